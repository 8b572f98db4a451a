// SPDX-License-Identifier: Apache-2.0
// Well-formed and broken UTF-8, sequences cut at the end, and offsets in both units.
#include "weft/text/utf8.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace weft::text {
namespace {

using namespace std::string_view_literals;

TEST(Utf8, SequencesOfEveryLength) {
  EXPECT_EQ(utf8_sequence_length("a"), 1U);
  EXPECT_EQ(utf8_sequence_length("\0"sv), 1U);
  EXPECT_EQ(utf8_sequence_length("é!"), 2U);
  EXPECT_EQ(utf8_sequence_length("中"), 3U);
  EXPECT_EQ(utf8_sequence_length("😀"), 4U);
  EXPECT_EQ(utf8_sequence_length("\xF4\x8F\xBF\xBF"), 4U);
  EXPECT_EQ(utf8_sequence_length(""), 0U);
}

TEST(Utf8, BrokenSequences) {
  for (const std::string_view broken :
       {"\x80"sv, "\xC3"sv, "\xC3("sv, "\xC0\xAF"sv, "\xC1\x81"sv, "\xE0\x80\xAF"sv, "\xED\xA0\x80"sv, "\xED\xBF\xBF"sv,
        "\xF0\x80\x80\x80"sv, "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFF"sv, "\xE4\xB8"sv}) {
    EXPECT_EQ(utf8_sequence_length(broken), 0U);
    EXPECT_FALSE(is_valid_utf8(broken));
  }
  EXPECT_EQ(valid_utf8_prefix("aé\xFFz"), 3U);
  EXPECT_TRUE(is_valid_utf8("aé中😀"));
  EXPECT_TRUE(is_valid_utf8(""));
}

TEST(Utf8, TailsThatMoreBytesCouldComplete) {
  EXPECT_EQ(incomplete_utf8_tail("a\xC3"), 1U);
  EXPECT_EQ(incomplete_utf8_tail("a\xE4\xB8"), 2U);
  EXPECT_EQ(incomplete_utf8_tail("\xF0\x9F\x98"), 3U);
  EXPECT_EQ(incomplete_utf8_tail("\xF0\x9F"), 2U);
  for (const std::string_view settled :
       {""sv, "a"sv, "é"sv, "中"sv, "\x80"sv, "\xFF"sv, "\xED\xA0"sv, "\xC0"sv, "\xF0\x80"sv}) {
    EXPECT_EQ(incomplete_utf8_tail(settled), 0U);
  }
}

TEST(Utf8, OffsetsCountCodePoints) {
  const std::string_view text = "aé中😀z";
  EXPECT_EQ(code_point_count(text), 5U);
  EXPECT_EQ(code_point_offset(text, 0), 0U);
  EXPECT_EQ(code_point_offset(text, 1), 1U);
  EXPECT_EQ(code_point_offset(text, 2), 1U) << "inside of é";
  EXPECT_EQ(code_point_offset(text, 3), 2U);
  EXPECT_EQ(code_point_offset(text, 10), 4U);
  EXPECT_EQ(code_point_offset(text, 999), 5U);
  EXPECT_EQ(byte_offset(text, 3), 6U);
  EXPECT_EQ(byte_offset(text, 99), text.size());
}

TEST(Utf8, EveryBrokenByteCountsOnce) {
  EXPECT_EQ(code_point_count("a\xFF\xC3z"), 4U);
  EXPECT_EQ(code_point_count("\xED\xA0\x80"), 3U);
  EXPECT_EQ(code_point_offset("\xFF\xFFz", 2), 2U);
  EXPECT_EQ(code_point_count("a\0b"sv), 3U);
}

TEST(Utf8, OffsetsInvertEachOtherOnRandomBytes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (unsigned i = random() % 40; i-- > 0;) {
      constexpr std::string_view kPieces[] = {"a", "é", "中", "😀", "\xC3", "\xE4\xB8", "\x80", "\xFF"};
      text += kPieces[random() % 8];
    }
    const std::size_t count = code_point_count(text);
    for (std::size_t point = 0; point <= count; ++point) {
      ASSERT_EQ(code_point_offset(text, byte_offset(text, point)), point);
    }
    ASSERT_EQ(byte_offset(text, count), text.size());
  }
}

}  // namespace
}  // namespace weft::text
