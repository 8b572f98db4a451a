// SPDX-License-Identifier: Apache-2.0
// Forms as curl and LibreTranslate's clients send them, and what only looks like one.
#include "weft/server/forms/form_body.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::server {
namespace {

using formats::Json;

TEST(FormBody, FieldsAreStringsAndListsOfThem) {
  EXPECT_EQ(form_fields("q=Guten+Tag%21&source=de&target=en&api_key="),
            Json({{"q", "Guten Tag!"}, {"source", "de"}, {"target", "en"}, {"api_key", ""}}));
  EXPECT_EQ(form_fields("q=a&q=b&q=c%3D%26&target=en\r\n"), Json({{"q", {"a", "b", "c=&"}}, {"target", "en"}}));
  EXPECT_EQ(form_fields("q=%C3%BCber"), Json({{"q", "über"}}));
  EXPECT_EQ(form_fields("q=&&r"), Json({{"q", ""}, {"r", ""}}));
}

TEST(FormBody, WhatIsNoFormIsNone) {
  for (const char* body : {"", "{\"q\": \"a=b\"}", "[1]", "\"q=1\"", "hello", "=", "what is this?=1"}) {
    EXPECT_FALSE(form_fields(body)) << body;
    EXPECT_FALSE(is_multipart(body)) << body;
  }
  EXPECT_TRUE(is_multipart("--x\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nhello\r\n--x--\r\n"));
}

TEST(FormBody, BrokenOnesAreNamed) {
  for (const char* body : {"q=%", "q=%4", "q=%zz", "q=%+1"}) {
    test::expect_error(ErrorKind::kFormat, {"form", "hexadecimal"}, [&] { form_fields(body); });
  }
  test::expect_error(ErrorKind::kFormat, {"UTF-8"}, [] { form_fields("q=%ff"); });
  std::string many;
  for (int i = 0; i < 65; ++i) {
    many += concat("f", i, "=1&");
  }
  test::expect_error(ErrorKind::kFormat, {"more than 64 fields"}, [&] { form_fields(many); });
}

TEST(FormBody, JsonIsAskedForWhereAFormComes) {
  for (const char* body : {"inputs=hello", "--x\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nhello\r\n--x--"}) {
    test::expect_error(ErrorKind::kFormat, {"is a form", "Content-Type: application/json"},
                       [&] { json_object({.body = body}); });
  }
  EXPECT_EQ(json_or_form({.body = "q=hello"}), Json({{"q", "hello"}}));
  EXPECT_EQ(json_or_form({.body = R"({"q": 1})"}), Json({{"q", 1}}));
  EXPECT_EQ(key_of({.body = "q=hello&api_key=secret"}), "secret");
}

}  // namespace
}  // namespace weft::server
