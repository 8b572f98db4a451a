// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of sentencepiece_model.proto.
#include "weft/text/sentencepiece_check.h"

#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/protobuf_wire.h"
#include "weft/text/sentencepiece/character_map.h"
#include "weft/text/sentencepiece/model.h"

namespace weft::text {
namespace {

constexpr std::uint32_t kPieces = 1;
constexpr std::uint32_t kTrainer = 2;
constexpr std::uint32_t kNormalizer = 3;
constexpr std::uint32_t kDenormalizer = 5;
constexpr std::uint32_t kPieceText = 1;
constexpr std::uint32_t kPieceScore = 2;
constexpr std::uint32_t kPieceType = 3;
constexpr std::uint64_t kByteType = 6;
constexpr std::uint32_t kCharacterMap = 2;

bool is_byte_piece(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return text.size() == 6 && text.starts_with("<0x") && is_digit(text[3]) && is_digit(text[4]) && text[5] == '>';
}

bool is_type(std::uint64_t value) { return value >= 1 && value <= 6; }

void check_piece(std::string_view message, std::int64_t index, std::string_view where) {
  WireReader reader(message);
  std::string_view text;
  std::uint64_t type = 1;
  while (const auto field = reader.next()) {
    if (field->number == kPieceText && field->kind == WireField::Kind::kBytes) {
      text = field->bytes;
    } else if (field->number == kPieceType && field->kind == WireField::Kind::kVarint) {
      type = is_type(field->value) ? field->value : type;  // as the model is read
    } else if (field->number == kPieceScore && field->kind == WireField::Kind::kFixed32 &&
               !std::isfinite(std::bit_cast<float>(static_cast<std::uint32_t>(field->value)))) {
      reject_model(where, "the score of piece ", index, " is not finite");
    }
  }
  if (reader.malformed()) {
    reject_model(where, "piece ", index, " is no protobuf message");
  }
  if (text.empty() || text.size() > kLongestPiece) {
    reject_model(where, "piece ", index, " has ", text.size(), " bytes, but a piece has 1 to ", kLongestPiece);
  }
  if (type == kByteType && !is_byte_piece(text)) {
    reject_model(where, "byte piece ", index, " must be '<0x00>' to '<0xFF>', found ", quote(text));
  }
}

void check_normalizer(std::string_view message, std::string_view where) {
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == kCharacterMap && field->kind == WireField::Kind::kBytes) {
      check_character_map(field->bytes, where);
    }
  }
  if (reader.malformed()) {
    reject_model(where, "its normaliser is no protobuf message");
  }
}

void check_message(std::string_view message, std::string_view where) {
  WireReader reader(message);
  while (reader.next()) {
  }
  if (reader.malformed()) {
    reject_model(where, "its settings are no protobuf message");
  }
}

}  // namespace

void check_sentencepiece_model(std::string_view model, std::string_view where) {
  WireReader reader(model);
  std::int64_t pieces = 0;
  while (const auto field = reader.next()) {
    if (field->kind != WireField::Kind::kBytes) {
      continue;
    }
    if (field->number == kPieces) {
      check_piece(field->bytes, pieces++, where);
    } else if (field->number == kTrainer) {
      check_message(field->bytes, where);
    } else if (field->number == kNormalizer || field->number == kDenormalizer) {
      check_normalizer(field->bytes, where);
    }
  }
  if (reader.malformed()) {
    reject_model(where, "it is no protobuf message");
  }
  if (pieces == 0) {
    reject_model(where, "it has no pieces");
  }
}

}  // namespace weft::text
