// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of sentencepiece_model.proto; what the library of that name refuses is refused here.
#include "weft/text/sentencepiece/model.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/protobuf_wire.h"

namespace weft::text {
namespace {

using FieldKind = WireField::Kind;

// SentencePiece.piece, .score and .type; a type that the format does not know means a normal piece.
Piece read_piece(std::string_view message) {
  Piece piece;
  WireReader reader(message);
  while (const auto part = reader.next()) {
    if (part->number == 1 && part->kind == FieldKind::kBytes) {
      piece.text = part->bytes;
    } else if (part->number == 2 && part->kind == FieldKind::kFixed32) {
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(part->value));
    } else if (part->number == 3 && part->kind == FieldKind::kVarint && part->value >= 1 && part->value <= 6) {
      piece.type = static_cast<PieceType>(part->value);
    }
  }
  return piece;
}

// TrainerSpec.model_type; nothing where `field` is another one.
std::optional<SentencePieceModel::Kind> kind_of(const WireField& field) {
  const bool fits = field.number == 3 && field.kind == FieldKind::kVarint && field.value >= 1 && field.value <= 4;
  return fits ? std::optional(static_cast<SentencePieceModel::Kind>(field.value)) : std::nullopt;
}

void read_normalizer(std::string_view message, NormalizerRules& rules) {
  WireReader reader(message);
  while (const auto field = reader.next()) {
    const bool flag = field->kind == FieldKind::kVarint;
    if (field->number == 2 && field->kind == FieldKind::kBytes) {
      rules.character_map = field->bytes;
    } else if (field->number == 3 && flag) {
      rules.dummy_prefix = field->value != 0;
    } else if (field->number == 4 && flag) {
      rules.remove_blanks = field->value != 0;
    } else if (field->number == 5 && flag) {
      rules.escape_blanks = field->value != 0;
    }
  }
}

}  // namespace

std::vector<Piece> read_pieces(std::string_view model) {
  std::vector<Piece> pieces;
  WireReader message(model);
  while (const auto field = message.next()) {
    if (field->number == 1 && field->kind == FieldKind::kBytes) {
      pieces.push_back(read_piece(field->bytes));
    }
  }
  return pieces;
}

SentencePieceModel::Kind model_kind(std::string_view model) {
  auto kind = SentencePieceModel::Kind::kUnigram;
  WireReader message(model);
  while (const auto field = message.next()) {
    if (field->number == 2 && field->kind == FieldKind::kBytes) {
      WireReader trainer(field->bytes);
      while (const auto part = trainer.next()) {
        kind = kind_of(*part).value_or(kind);
      }
    }
  }
  return kind;
}

SentencePieceModel::SentencePieceModel(std::string_view file, std::string_view where) : pieces(read_pieces(file)) {
  read(file);
  index(where);
}

std::int32_t SentencePieceModel::find(std::string_view text) const {
  const auto special = reserved.find(text);
  if (special != reserved.end()) {
    return special->second;
  }
  const auto found = ordinary.find(text);
  return found != ordinary.end() ? found->second : unknown;
}

void SentencePieceModel::read(std::string_view file) {
  WireReader message(file);
  while (const auto field = message.next()) {
    if (field->kind != FieldKind::kBytes) {
      continue;
    }
    if (field->number == 2) {
      read_trainer(field->bytes);
    } else if (field->number == 3) {
      read_normalizer(field->bytes, normalizer);
    } else if (field->number == 5) {
      read_normalizer(field->bytes, denormalizer);
    }
  }
}

// TrainerSpec, the part that matters for encoding and decoding.
void SentencePieceModel::read_trainer(std::string_view message) {
  WireReader reader(message);
  while (const auto field = reader.next()) {
    const bool number = field->kind == FieldKind::kVarint;
    kind = kind_of(*field).value_or(kind);
    if (field->number == 24 && number) {
      normalizer.blank_as_suffix = field->value != 0;
    } else if (field->number == 35 && number) {
      byte_fallback = field->value != 0;
    } else if (field->number == 44 && field->kind == FieldKind::kBytes) {
      unknown_text = field->bytes.substr(0, field->bytes.find('\0'));
    }
  }
}

void SentencePieceModel::index(std::string_view where) {
  constexpr std::size_t kLongestUserDefined = 1024;  // bytes: they are looked for at every place of a text, twice
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const auto id = static_cast<std::int32_t>(i);
    if (piece.type == PieceType::kUserDefined && piece.text.size() > kLongestUserDefined) {
      reject_model(where, "the user-defined piece ", i, " has ", piece.text.size(), " bytes, more than ",
                   kLongestUserDefined);
    }
    const bool is_reserved =
        piece.type == PieceType::kUnknown || piece.type == PieceType::kControl || piece.type == PieceType::kByte;
    if (!(is_reserved ? reserved : ordinary).emplace(piece.text, id).second) {
      reject_model(where, "the piece ", quote(piece.text), " appears twice");
    }
    if (piece.type == PieceType::kUnknown) {
      unknown = id;
    }
  }
  check_counts(where);
}

void SentencePieceModel::check_counts(std::string_view where) const {
  const auto count = [&](PieceType type) {
    return std::count_if(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.type == type; });
  };
  if (count(PieceType::kUnknown) != 1) {
    reject_model(where, count(PieceType::kUnknown), " pieces stand for what is unknown, expected 1");
  }
  if (kind == Kind::kUnigram && ordinary.empty()) {
    reject_model(where, "no piece stands for text");
  }
  // Byte pieces are `<0x00>` to `<0xFF>` and differ, so that their number says whether all are there.
  const std::ptrdiff_t expected = byte_fallback ? 256 : 0;
  if (count(PieceType::kByte) != expected) {
    reject_model(where, "it has ", count(PieceType::kByte), " byte pieces, expected ", expected);
  }
}

}  // namespace weft::text
