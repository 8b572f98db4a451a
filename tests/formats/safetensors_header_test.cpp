// SPDX-License-Identifier: Apache-2.0
// Every way in which a safetensors header can lie, each one clear error that names file, tensor and rule.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/formats/safetensors.h"

namespace weft::formats {
namespace {

using test::expect_error;

void expect_no_header(std::string_view text, std::uint64_t data_bytes, std::initializer_list<std::string_view> words) {
  const std::string message =
      expect_error(ErrorKind::kFormat, words, [&] { parse_safetensors_header(text, data_bytes, "m.safetensors"); });
  EXPECT_TRUE(message.starts_with("m.safetensors: ")) << message;
}

// A header with the tensor 'w' of these fields.
std::string tensor(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return concat(R"({"w": {"dtype": ")", dtype, R"(", "shape": )", shape, R"(, "data_offsets": )", offsets, "}}");
}

TEST(SafetensorsHeader, ReadsInAnyFieldOrder) {
  const SafetensorsHeader header =
      parse_safetensors_header(R"({"b":{"data_offsets":[4,8],"shape":[2],"dtype":"I16"},"__metadata__":{"k":"v"},)"
                               R"("a":{"shape":[],"dtype":"F32","data_offsets":[0,4]}}   )",
                               8, "x");
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[1].name, "b");
  EXPECT_EQ(header.metadata.at("k"), "v");
}

TEST(SafetensorsHeader, TensorsWithoutElementsMayShareAPlace) {
  const SafetensorsHeader header = parse_safetensors_header(
      R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
      R"("c":{"dtype":"F32","shape":[3,0],"data_offsets":[2,2]}})",
      2, "x");
  EXPECT_EQ(header.tensors.size(), 3U);
}

TEST(SafetensorsHeader, OverlapHolesAndTrailingBytes) {
  const auto two = [](int begin, int end) {
    return concat(
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"w":{"dtype":"U8","shape":[4],"data_offsets":[)", begin,
        ",", end, "]}}");
  };
  expect_no_header(two(2, 6), 8, {"tensor 'w'", "overlaps"});
  expect_no_header(two(0, 4), 8, {"overlaps"});
  expect_no_header(two(5, 9), 9, {"tensor 'w'", "hole"});
  expect_no_header(two(4, 8), 10, {"2 bytes at the end"});
  expect_no_header(tensor("U8", "[4]", "[1, 5]"), 5, {"hole"});
}

TEST(SafetensorsHeader, OffsetsThatCannotBe) {
  expect_no_header(tensor("U8", "[4]", "[4, 0]"), 4, {"tensor 'w'", "must rise"});
  expect_no_header(tensor("U8", "[4]", "[0, 5]"), 4, {"end within the 4 bytes"});
  expect_no_header(tensor("U8", "[4]", "[-4, 0]"), 4, {"tensor 'w'", "-4"});
  expect_no_header(tensor("U8", "[4]", "[0.0, 4]"), 4, {"data_offsets must be two integers", "0.0"});
  expect_no_header(tensor("U8", "[4]", "[0]"), 4, {"two integers, found 1"});
  expect_no_header(tensor("U8", "[4]", "[0, 4, 4]"), 4, {"two integers"});
  expect_no_header(tensor("U8", "[4]", "\"04\""), 4, {"'data_offsets' must be a list"});
  expect_no_header(tensor("U8", "[4]", "[0, 18446744073709551615]"), 4, {"18446744073709551615"});
  expect_no_header(tensor("U8", "[4]", "[0, 18446744073709551616]"), 4, {"18446744073709551616"});
}

TEST(SafetensorsHeader, ShapesThatOverflow) {
  expect_no_header(tensor("U8", "[2, 18446744073709551614]", "[0, 4]"), 4, {"18446744073709551614", "63 bits"});
  expect_no_header(tensor("U8", "[4294967296, 4294967296]", "[0, 0]"), 0, {"overflows"});
  expect_no_header(tensor("F64", "[4611686018427387904]", "[0, 0]"), 0, {"overflows"});
  expect_no_header(tensor("F32", "[3]", "[0, 4]"), 4, {"ask for 12 bytes, data_offsets for 4"});
  expect_no_header(tensor("F32", "[-1]", "[0, 4]"), 4, {"the shape must be integers of at least 0", "-1"});
  expect_no_header(tensor("F32", "[1.0]", "[0, 4]"), 4, {"1.0"});
  expect_no_header(tensor("F32", "[[1]]", "[0, 4]"), 4, {"a list"});
  expect_no_header(tensor("F32", "1", "[0, 4]"), 4, {"'shape' must be a list"});
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) {
    ones += ",1";
  }
  expect_no_header(tensor("F32", ones + "]", "[0, 4]"), 4, {"more than 64 dimensions"});
}

TEST(SafetensorsHeader, Dtypes) {
  expect_no_header(tensor("F33", "[1]", "[0, 4]"), 4, {"tensor 'w'", "'F33' is unknown", "BF16"});
  expect_no_header(tensor("f32", "[1]", "[0, 4]"), 4, {"unknown"});
  expect_no_header(R"({"w": {"dtype": 3, "shape": [], "data_offsets": [0, 4]}})", 4, {"'dtype' must be a string"});
}

TEST(SafetensorsHeader, ManyNamesAreHeldAgainstEachOther) {
  constexpr int kNames = 20000;
  std::string header = "{";
  for (int name = 0; name < kNames; ++name) {  // neither in the order of names nor of data
    const int number = name * 7919 % kNames;
    header += concat(name == 0 ? "" : ",", "\"t", number, R"(":{"dtype":"U8","shape":[1],"data_offsets":[)", number,
                     ",", number + 1, "]}");
  }
  const SafetensorsHeader parsed = parse_safetensors_header(header + "}", kNames, "x");
  ASSERT_EQ(parsed.tensors.size(), static_cast<std::size_t>(kNames));
  for (int name = 0; name < kNames; ++name) {
    ASSERT_EQ(parsed.tensors[static_cast<std::size_t>(name)].name, concat("t", name));
  }
  const std::string again = R"("t777":{"dtype":"U8","shape":[1],"data_offsets":[20000,20001]}})";
  expect_no_header(header + "," + again, kNames + 1, {"'t777' appears twice"});
}

TEST(SafetensorsHeader, RepeatedMissingAndForeignNames) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_no_header("{\"w\":" + entry + ",\"w\":" + entry + "}", 0, {"'w' appears twice"});
  expect_no_header(R"({"__metadata__":{},"__metadata__":{}})", 0, {"'__metadata__' appears twice"});
  expect_no_header(R"({"__metadata__":{"a":"1","a":"2"}})", 0, {"'__metadata__'", "'a' appears twice"});
  expect_no_header(R"({"w":{"dtype":"U8","dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 0,
                   {"'dtype' appears twice"});
  expect_no_header(R"({"w":{"dtype":"U8","shape":[0]}})", 0, {"'data_offsets' is missing"});
  expect_no_header(R"({"w":{}})", 0, {"'dtype' is missing"});
  expect_no_header(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"strides":[1]}})", 0, {"'strides'"});
}

TEST(SafetensorsHeader, MetadataIsStringsOnly) {
  expect_no_header(R"({"__metadata__":{"a":1}})", 0, {"__metadata__: 'a' must be a string"});
  expect_no_header(R"({"__metadata__":{"a":{}}})", 0, {"__metadata__: 'a' must be a string"});
  expect_no_header(R"({"__metadata__":{"a":null}})", 0, {"__metadata__"});
  EXPECT_TRUE(parse_safetensors_header(R"({"__metadata__":null})", 0, "x").metadata.empty());
  expect_no_header(R"({"__metadata__":null,"__metadata__":{}})", 0, {"'__metadata__' appears twice"});
  expect_no_header(R"({"a":null})", 0, {"'a' must be an object", "null"});
  expect_no_header(R"({"__metadata__":"a"})", 0, {"'__metadata__' must be an object"});
}

TEST(SafetensorsHeader, TextThatIsNoHeader) {
  expect_no_header("", 0, {"must start with '{'"});
  expect_no_header(" {}", 0, {"must start with '{'"});
  expect_no_header("[]", 0, {"must start with '{'"});
  expect_no_header("{", 0, {"not valid JSON"});
  expect_no_header("{\"\xff\": 1}", 0, {"UTF-8"});
  expect_no_header("{} {}", 0, {"(byte 3)"});
  expect_no_header(std::string_view("{}\0\0", 4), 0, {"NUL"});
  expect_no_header(R"({"w": 3})", 0, {"'w' must be an object, found the number 3"});
  expect_no_header(R"({"w": [)", 0, {"'w' must be an object, found a list"});
  expect_no_header("{\"a\":" + std::string(100000, '['), 0, {"found a list"});
}

TEST(SafetensorsHeader, ForeignNamesStayOnOneLine) {
  expect_no_header(R"({"a\nb": {"dtype": "X\ny"}})", 0, {"'a\\x0ab'", "'X\\x0ay'"});
  expect_no_header("{\"" + std::string(1000000, 'n') + "\": 1}", 0, {"nnn'..."});
}

}  // namespace
}  // namespace weft::formats
