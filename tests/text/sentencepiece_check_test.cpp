// SPDX-License-Identifier: Apache-2.0
// Model files that would have the SentencePiece library read outside of them are refused first.
#include "weft/text/sentencepiece_check.h"

#include <limits>

#include <gtest/gtest.h>

#include "sentencepiece_model.h"
#include "support/expect_error.h"
#include "weft/text/protobuf_wire.h"

namespace weft::text {
namespace {

void expect_refused(const std::string& model, std::initializer_list<std::string_view> words) {
  const std::string message =
      test::expect_error(ErrorKind::kFormat, words, [&] { check_sentencepiece_model(model, "t.model"); });
  EXPECT_TRUE(message.starts_with("t.model: ")) << message;
}

std::string with_map(std::string_view map) { return piece("a", 0) + settings(false, map); }

// A double array of 256 units, all free but the first, and the texts behind it.
std::string character_map(std::uint32_t first_unit, std::uint32_t value_unit, std::string_view texts) {
  std::string map = fixed32(1024) + fixed32(first_unit) + fixed32(value_unit);
  return map + std::string(1024 - 8, '\0') + std::string(texts);
}

TEST(SentencePieceCheck, SoundModelsPass) {
  check_sentencepiece_model(small_model(), "t.model");
  check_sentencepiece_model(with_map({}), "t.model");
  check_sentencepiece_model(with_map(character_map(0, 0, std::string_view("x\0", 2))), "t.model");
}

TEST(SentencePieceCheck, CharacterMapsOfFewBytes) {
  for (std::size_t size = 1; size <= 4; ++size) {
    expect_refused(with_map(std::string(size, '\x01')), {"character map has only"});
  }
  expect_refused(with_map(fixed32(0) + std::string("x\0", 2)), {"0 bytes"});
  expect_refused(with_map(fixed32(1U << 31) + std::string("x\0", 2)), {"2147483648 bytes of 2"});
  expect_refused(with_map(fixed32(7) + std::string(20, '\0')), {"7 bytes of 20"});
  expect_refused(with_map(fixed32(1024) + std::string(1024, '\0')), {"1024 bytes of 1024"});
}

TEST(SentencePieceCheck, CharacterMapsThatPointOutside) {
  constexpr std::uint32_t kHasValue = 1U << 8;
  constexpr std::uint32_t kIsValue = 1U << 31;
  const std::string_view texts("x\0", 2);
  expect_refused(with_map(character_map(256U << 10, 0, texts)), {"unit 0", "outside"});
  expect_refused(with_map(character_map(0x1FFFFEU << 10 | 1U << 9, 0, texts)), {"unit 0", "outside"});
  expect_refused(with_map(character_map(kIsValue | 256U << 10, 0, texts)), {"unit 0", "outside"});
  // The first unit has its value in the second one.
  check_sentencepiece_model(with_map(character_map(1U << 10 | kHasValue, kIsValue | 1, texts)), "t.model");
  expect_refused(with_map(character_map(1U << 10 | kHasValue, kIsValue | 2, texts)), {"unit 0", "outside"});
  expect_refused(with_map(character_map(0, 0, "x")), {"last text has no end"});
}

TEST(SentencePieceCheck, Pieces) {
  expect_refused(piece("", 0), {"piece 0 has 0 bytes"});
  expect_refused(piece("a", 0) + piece(std::string(100000, 'x'), 0), {"piece 1 has 100000 bytes"});
  expect_refused(piece("a", std::numeric_limits<float>::quiet_NaN()), {"score of piece 0 is not finite"});
  expect_refused(piece("a", -std::numeric_limits<float>::infinity()), {"score"});
  for (const char* text : {"<0x-1>", "<0x1>", "<0xGG>", "<0x100>", "a"}) {
    expect_refused(piece(text, 0, PieceType::kByte), {"byte piece 0"});
  }
  // A second type that no piece has does not take the first one back.
  expect_refused(bytes_field(1, bytes_field(1, "a") + varint_field(3, 6) + varint_field(3, 99)), {"byte piece 0"});
}

TEST(SentencePieceCheck, BrokenMessages) {
  expect_refused("", {"no pieces"});
  expect_refused(bytes_field(1, "\x0a\x7f"), {"piece 0 is no protobuf"});
  expect_refused(piece("a", 0) + bytes_field(3, "\x12\x7f"), {"normaliser is no protobuf"});
  expect_refused(piece("a", 0) + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", {"no protobuf"});
  expect_refused(piece("a", 0) + "\x0b", {"no protobuf"});
  expect_refused(piece("a", 0) + std::string(1, '\0'), {"no protobuf"});
}

TEST(WireReader, WalksEveryKind) {
  const std::string message = varint_field(1, 300) + varint(2 << 3 | 1) + std::string("\1\0\0\0\0\0\0\x80", 8) +
                              bytes_field(3, "xyz") + varint(4 << 3 | 5) + fixed32(7);
  WireReader reader(message);
  EXPECT_EQ(reader.next()->value, 300U);
  EXPECT_EQ(reader.next()->value, 0x8000000000000001U);
  EXPECT_EQ(reader.next()->bytes, "xyz");
  EXPECT_EQ(reader.next()->value, 7U);
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_FALSE(reader.malformed());
}

TEST(WireReader, EveryCutIsNoticed) {
  const std::string message = bytes_field(3, "xyz");
  for (std::size_t size = 1; size < message.size(); ++size) {
    WireReader reader(std::string_view(message).substr(0, size));
    EXPECT_FALSE(reader.next().has_value());
    EXPECT_TRUE(reader.malformed());
  }
}

}  // namespace
}  // namespace weft::text
