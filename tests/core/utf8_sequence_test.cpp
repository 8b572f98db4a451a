// SPDX-License-Identifier: Apache-2.0
// Every code point's sequence is known, and nothing else is. tests/text/utf8_test.cpp has the broken ones by name.
#include "weft/core/utf8_sequence.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

// The bytes of a code point, by the definition of UTF-8 and without any rule.
std::string encoded(unsigned point) {
  const auto tail = [point](int shift) { return static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    return {static_cast<char>(point)};
  }
  if (point < 0x800) {
    return {static_cast<char>(0xC0 | (point >> 6)), tail(0)};
  }
  if (point < 0x10000) {
    return {static_cast<char>(0xE0 | (point >> 12)), tail(6), tail(0)};
  }
  return {static_cast<char>(0xF0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8Sequence, KnowsEveryCodePoint) {
  for (unsigned point = 0; point < 0x110000; ++point) {
    const std::string text = encoded(point);
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    ASSERT_EQ(utf8_sequence_length(text), surrogate ? 0 : text.size()) << point;
    ASSERT_EQ(is_utf8_start(text.substr(0, text.size() - 1)), text.size() > 1 && !surrogate) << point;
  }
}

TEST(Utf8Sequence, NothingBeyondTheLastCodePoint) {
  for (unsigned point = 0x110000; point < 0x200000; point += 0x111) {
    ASSERT_EQ(utf8_sequence_length(encoded(point)), 0U) << point;
  }
  EXPECT_EQ(utf8_sequence_length(""), 0U);
  EXPECT_FALSE(is_utf8_start(""));
  EXPECT_FALSE(is_utf8_start("\x80"));
}

TEST(Utf8Sequence, BytesOfNoSequenceAreBlanks) {
  EXPECT_EQ(with_blanks_for_bytes("caf\xe9 caf\u00e9\xf0\x9f"), "caf  caf\u00e9  ");
  EXPECT_EQ(with_blanks_for_bytes(""), "");
}

}  // namespace
}  // namespace weft
