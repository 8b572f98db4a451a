// SPDX-License-Identifier: Apache-2.0
// What a SentencePiece model file says: its pieces and the rules around them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/core/error.h"

namespace weft::text {

/// U+2581, which stands for a blank inside pieces.
inline constexpr std::string_view kVisibleBlank = "\xE2\x96\x81";

/// Throws kFormat for a file that is no model.
template <typename... Parts>
[[noreturn]] void reject_model(std::string_view where, const Parts&... parts) {
  fail(ErrorKind::kFormat, where, ": not a sound SentencePiece model: ", parts...);
}

/// As sentencepiece_model.proto counts them.
enum class PieceType { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

/// One piece of a SentencePiece model.
struct Piece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

/// The pieces of a model that check_sentencepiece_model has passed.
std::vector<Piece> read_pieces(std::string_view model);

/// NormalizerSpec.
struct NormalizerRules {
  std::string_view character_map;  ///< of the file, checked
  bool dummy_prefix = true;        ///< a blank before the first word
  bool remove_blanks = true;       ///< at both ends, and all but one in between
  bool escape_blanks = true;       ///< blanks become U+2581
  bool blank_as_suffix = false;    ///< the blank of `dummy_prefix` comes last
};

struct SentencePieceModel {
  enum class Kind { kUnigram = 1, kBytePairs = 2, kWords = 3, kCharacters = 4 };

  /// Reads a file that check_sentencepiece_model has passed; `file` must outlive this. Errors: kFormat naming `where`
  /// for a piece that appears twice, no unknown piece or several, and byte pieces that are not all 256.
  SentencePieceModel(std::string_view file, std::string_view where);
  SentencePieceModel(const SentencePieceModel&) = delete;
  SentencePieceModel& operator=(const SentencePieceModel&) = delete;

  /// The id of a piece, or that of the unknown piece.
  std::int32_t find(std::string_view text) const;
  PieceType type(std::int32_t id) const { return pieces[static_cast<std::size_t>(id)].type; }

  Kind kind = Kind::kUnigram;
  std::vector<Piece> pieces;
  std::unordered_map<std::string_view, std::int32_t> ordinary;  ///< normal, user-defined and unused pieces
  std::unordered_map<std::string_view, std::int32_t> reserved;  ///< the others, which no text is made of
  std::int32_t unknown = -1;
  bool byte_fallback = false;                   ///< unknown characters become their bytes
  std::string unknown_text = " \xE2\x81\x87 ";  ///< what decoding writes for the unknown piece
  NormalizerRules normalizer;
  NormalizerRules denormalizer;

 private:
  void read(std::string_view file);
  void read_trainer(std::string_view message);
  void index(std::string_view where);
  void check_counts(std::string_view where) const;
};

/// What cuts a text into the pieces of a model that check_sentencepiece_model has passed.
SentencePieceModel::Kind model_kind(std::string_view model);

}  // namespace weft::text
