// SPDX-License-Identifier: Apache-2.0
// Foreign text in messages: one line, bounded, readable; and the nearest name.
#include "weft/core/quote.h"

#include <array>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Quote, PlainAndUnicodeTextStays) {
  EXPECT_EQ(quote("model.safetensors"), "'model.safetensors'");
  EXPECT_EQ(quote("größe 中 😀"), "'größe 中 😀'");
  EXPECT_EQ(quote(""), "''");
}

TEST(Quote, ControlBytesAndBrokenUtf8AreEscaped) {
  EXPECT_EQ(quote(std::string_view("a\nb\0c", 5)), "'a\\x0ab\\x00c'");
  EXPECT_EQ(quote("it's \\"), "'it\\'s \\\\'");
  EXPECT_EQ(quote("\x1b[31m"), "'\\x1b[31m'");
  EXPECT_EQ(quote("\xff\xc3"), "'\\xff\\xc3'");
  EXPECT_EQ(quote("\xed\xa0\x80"), "'\\xed\\xa0\\x80'");  // a lone surrogate
  EXPECT_EQ(quote("\xe2\x80\xa8"), "'\\xe2\\x80\\xa8'");  // line separator
  EXPECT_EQ(quote("\xc2\x85"), "'\\xc2\\x85'");           // next line
}

TEST(Quote, LongTextIsCut) {
  const std::string text = quote(std::string(100000, 'x'), 10);
  EXPECT_EQ(text, "'xxxxxxxxxx'...");
  EXPECT_LT(quote(std::string(100000, '\x01')).size(), 100U);
}

TEST(NearestName, FindsTyposAndNothingElse) {
  constexpr std::array<std::string_view, 3> kNames{"hidden_size", "num_hidden_layers", "seed"};
  EXPECT_EQ(nearest_name("hiden_size", kNames), "hidden_size");
  EXPECT_EQ(nearest_name("num_layers", kNames), "");
  EXPECT_EQ(nearest_name("sead", kNames), "seed");
  EXPECT_EQ(nearest_name("SEED", kNames), "seed");
  EXPECT_EQ(nearest_name("Sead", kNames), "seed");
  EXPECT_EQ(nearest_name("xx", kNames), "");
  EXPECT_EQ(nearest_name(std::string(1000000, 'a'), kNames), "");
}

TEST(QuotedList, NamesAsManyAsAskedAndCountsTheRest) {
  const std::vector<std::string> names = {"a", "b'c", "d"};
  EXPECT_EQ(quoted_list(names, 3), "'a', 'b\\'c', 'd'");
  EXPECT_EQ(quoted_list(names, 2), "'a', 'b\\'c' and 1 more");
  EXPECT_EQ(quoted_list({}, 2), "");
}

}  // namespace
}  // namespace weft
