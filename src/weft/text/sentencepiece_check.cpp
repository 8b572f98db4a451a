// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of sentencepiece_model.proto; the double array is Darts-clone's, whose search has no bounds
// checks.
#include "weft/text/sentencepiece_check.h"

#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/protobuf_wire.h"

namespace weft::text {
namespace {

constexpr std::uint32_t kPieces = 1;
constexpr std::uint32_t kNormalizer = 3;
constexpr std::uint32_t kDenormalizer = 5;
constexpr std::uint32_t kPieceText = 1;
constexpr std::uint32_t kPieceScore = 2;
constexpr std::uint32_t kPieceType = 3;
constexpr std::uint64_t kByteType = 6;
constexpr std::uint32_t kCharacterMap = 2;

template <typename... Parts>
[[noreturn]] void reject(std::string_view where, const Parts&... parts) {
  fail(ErrorKind::kFormat, where, ": not a sound SentencePiece model: ", parts...);
}

bool is_byte_piece(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return text.size() == 6 && text.starts_with("<0x") && is_digit(text[3]) && is_digit(text[4]) && text[5] == '>';
}

void check_piece(std::string_view message, std::int64_t index, std::string_view where) {
  WireReader reader(message);
  std::string_view text;
  std::uint64_t type = 1;
  while (const auto field = reader.next()) {
    if (field->number == kPieceText && field->kind == WireField::Kind::kBytes) {
      text = field->bytes;
    } else if (field->number == kPieceType && field->kind == WireField::Kind::kVarint) {
      type = field->value;
    } else if (field->number == kPieceScore && field->kind == WireField::Kind::kFixed32 &&
               !std::isfinite(std::bit_cast<float>(static_cast<std::uint32_t>(field->value)))) {
      reject(where, "the score of piece ", index, " is not finite");
    }
  }
  if (reader.malformed()) {
    reject(where, "piece ", index, " is no protobuf message");
  }
  if (text.empty() || text.size() > kLongestPiece) {
    reject(where, "piece ", index, " has ", text.size(), " bytes, but a piece has 1 to ", kLongestPiece);
  }
  if (type == kByteType && !is_byte_piece(text)) {
    reject(where, "byte piece ", index, " must be '<0x00>' to '<0xFF>', found ", quote(text));
  }
}

// Units of a Darts-clone double array: `label` in the low byte, bit 31 marks a value, bit 8 says that a value hangs
// below.
class DoubleArray {
 public:
  explicit DoubleArray(std::string_view bytes) : bytes_(bytes) {}
  std::size_t size() const { return bytes_.size() / sizeof(std::uint32_t); }
  std::uint32_t unit(std::size_t index) const {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes_.data() + index * sizeof(value), sizeof(value));
    return value;
  }
  /// Where the children of `index` are, up to their labels.
  std::size_t base(std::size_t index) const {
    const std::uint32_t unit_value = unit(index);
    return index ^ static_cast<std::size_t>((unit_value >> 10) << ((unit_value & (1U << 9)) >> 6));
  }

 private:
  std::string_view bytes_;
};

void check_character_map(std::string_view map, std::string_view where) {
  constexpr std::uint32_t kIsValue = 1U << 31;
  constexpr std::uint32_t kHasValue = 1U << 8;
  if (map.empty()) {
    return;
  }
  std::uint32_t trie_bytes = 0;
  if (map.size() <= sizeof(trie_bytes)) {
    reject(where, "the character map has only ", map.size(), " bytes");
  }
  std::memcpy(&trie_bytes, map.data(), sizeof(trie_bytes));
  map.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes >= map.size() || trie_bytes % (256 * sizeof(std::uint32_t)) != 0) {
    reject(where, "the character map's trie has ", trie_bytes, " bytes of ", map.size(), ", which cannot be");
  }
  const std::string_view texts = map.substr(trie_bytes);
  if (texts.back() != '\0') {
    reject(where, "the character map's last text has no end");
  }
  const DoubleArray trie(map.substr(0, trie_bytes));
  for (std::size_t i = 0; i < trie.size(); ++i) {
    const std::uint32_t unit = trie.unit(i);
    if (i > 0 && (unit & kIsValue) != 0) {  // no search walks on from a value, but every one starts at unit 0
      continue;
    }
    const std::size_t base = trie.base(i);
    const bool outside = (base | 0xFF) >= trie.size();
    if (outside || ((unit & kHasValue) != 0 && (trie.unit(base) & ~kIsValue) >= texts.size())) {
      reject(where, "unit ", i, " of the character map points outside of it");
    }
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
    reject(where, "its normaliser is no protobuf message");
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
    } else if (field->number == kNormalizer || field->number == kDenormalizer) {
      check_normalizer(field->bytes, where);
    }
  }
  if (reader.malformed()) {
    reject(where, "it is no protobuf message");
  }
  if (pieces == 0) {
    reject(where, "it has no pieces");
  }
}

}  // namespace weft::text
