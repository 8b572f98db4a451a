// SPDX-License-Identifier: Apache-2.0
// One side of Marian's or Pegasus' tokeniser: SentencePiece cuts and joins the pieces, and a table of the family's own
// numbers them. Special tokens are cut out of the text first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/text/hugging_face/vocabulary.h"
#include "weft/text/pair/token_cutter.h"
#include "weft/text/sentencepiece/processor.h"
#include "weft/text/tokenizer.h"

namespace weft::text {

/// What the two families do that SentencePiece does not.
struct PieceRules {
  bool language_codes = false;      ///< `>>xx<<` at the start of a stretch of text is one token (Marian)
  bool newlines_to_blanks = false;  ///< before anything is cut (Pegasus)
  bool clean_up = false;            ///< no blanks before punctuation in text for people
};

/// What a side is made of; everything that both sides have in common is shared.
struct PieceParts {
  std::string kind;  ///< "marian" or "pegasus"
  PieceRules rules;
  std::shared_ptr<const SentencePieceProcessor> cut;   ///< text to pieces
  std::shared_ptr<const SentencePieceProcessor> join;  ///< pieces to text
  std::shared_ptr<const TokenCutter> cutter;           ///< added tokens; their ids win over those of the tables
  std::shared_ptr<const TokenIds> numbers;             ///< ids of pieces
  std::string unknown;                                 ///< the token of pieces without an id
  std::shared_ptr<const std::map<std::string, std::string>> files;  ///< for save(): name to content
};

class PieceTokenizer final : public Tokenizer {
 public:
  /// Errors: kFormat naming `where` where `numbers` lacks the unknown token, and for ids that two tokens have or that
  /// are far above the number of tokens.
  PieceTokenizer(PieceParts parts, const std::string& where);

  /// Without the end of the text. Errors: kArgument, as SentencePieceProcessor::encode.
  std::vector<std::int64_t> encode(std::string_view text) const override;
  /// The same, but special tokens that are written in the text are letters of it; without `with_code` so is a language
  /// code at its start.
  std::vector<std::int64_t> encode_plain(std::string_view text, bool with_code) const;
  /// Special tokens and all, as `transformers` decodes, but with the blanks at both ends that it strips.
  std::string decode(const std::vector<std::int64_t>& ids) const override;
  /// What `transformers` gives with skip_special_tokens. Errors: as decode().
  std::string display(const std::vector<std::int64_t>& ids) const;
  std::int64_t vocabulary_size() const override { return static_cast<std::int64_t>(tokens_.size()); }
  std::string kind() const override { return parts_.kind; }
  bool reads_language_codes() const noexcept { return parts_.rules.language_codes; }
  void save(const std::filesystem::path& directory) const override;

  /// The id of a piece or a token, that of the unknown one where it has none.
  std::int64_t id(std::string_view piece) const;
  std::int64_t unknown() const noexcept { return unknown_; }
  /// The piece or token of an id. Errors: kArgument for an id that has none.
  std::string token(std::int64_t id) const;
  bool is_special(std::int64_t id) const;
  const PieceParts& parts() const noexcept { return parts_; }

 private:
  std::string changed_text(std::string_view text) const;
  std::vector<std::int64_t> ids_of(const std::vector<TextPart>& parts, bool with_code) const;
  void encode_stretch(std::string_view text, bool with_code, std::vector<std::int64_t>& ids) const;
  std::string joined_text(const std::vector<std::int64_t>& ids, bool skip_special) const;

  PieceParts parts_;
  std::unordered_map<std::string_view, std::int64_t> ids_;  // of parts_.numbers and parts_.cutter; views into them
  std::vector<std::string_view> tokens_;                    // by id; empty where there is none
  std::vector<bool> special_;
  std::int64_t unknown_ = -1;
};

}  // namespace weft::text
