// SPDX-License-Identifier: Apache-2.0
// Tokenisers of Hugging Face directories name their unknown token. The others are asked: they encode a character that
// no vocabulary has.
#include "weft/text/unknown_tokens.h"

#include <algorithm>
#include <utility>

#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

constexpr std::string_view kNobodysCharacter = "\xF4\x8F\xBF\xBD";  // U+10FFFD, for private use
constexpr std::size_t kFewestByteTokens = 4;                        // of that character, where bytes are tokens

std::string percent_of(std::int64_t part, std::int64_t whole) {
  return concat(static_cast<std::int64_t>(100.0 * static_cast<double>(part) / static_cast<double>(whole)), "%");
}

}  // namespace

std::optional<std::int64_t> unknown_id(const Tokenizer& tokenizer) {
  if (const auto* named = dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer)) {
    return named->special(SpecialRole::kUnknown);
  }
  if (tokenizer.kind() != "sentencepiece") {
    return std::nullopt;
  }
  const std::vector<std::int64_t> ids = tokenizer.encode(kNobodysCharacter);
  if (ids.empty() || ids.size() >= kFewestByteTokens) {
    return std::nullopt;
  }
  // A blank may come before it or behind it; the unknown piece has a lower id than the pieces that stand for text.
  return *std::min_element(ids.begin(), ids.end());
}

UnknownTokens::UnknownTokens(const Tokenizer& tokenizer, std::string where)
    : id_(unknown_id(tokenizer)), token_("unknown"), where_(std::move(where)) {
  if (const auto* named = dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer); named != nullptr && id_) {
    token_ = named->token(*id_);
  }
}

void UnknownTokens::add(std::span<const std::int64_t> ids, std::span<const std::int64_t> special_mask) {
  if (!id_) {
    return;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool from_text = special_mask.empty() || special_mask[i] == 0;
    tokens_ += from_text ? 1 : 0;
    unknown_ += from_text && ids[i] == *id_ ? 1 : 0;
  }
}

void UnknownTokens::warn(const std::string& what) {
  if (warned_ || tokens_ == 0 || unknown_ < tokens_ - unknown_) {
    return;
  }
  warned_ = true;
  log_warning(percent_of(unknown_, tokens_), " of the tokens ", what, " (", unknown_, " of ", tokens_, ") are ", token_,
              ": the tokeniser of ", where_, " does not know this text");
}

void warn_of_unknown_text(const Tokenizer& tokenizer, std::string_view text, const std::string& where) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  if (unknown_id(tokenizer)) {
    UnknownTokens unknown(tokenizer, where);
    unknown.add(tokenizer.encode(text.substr(0, kMostBytes)));
    unknown.warn("of the text");
  }
}

void warn_of_small_vocabulary(const Tokenizer& tokenizer, std::int64_t rows, const std::string& where) {
  const std::int64_t ids = tokenizer.vocabulary_size();
  if (rows / 2 > ids) {
    log_warning(where, ": the tokeniser has ", ids, " tokens and the model ", rows,
                " rows of embeddings; is this the tokeniser that the model was trained with?");
  }
}

}  // namespace weft::text
