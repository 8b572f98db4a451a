// SPDX-License-Identifier: Apache-2.0
// The order of the rules is that of the SentencePiece library: ids depend on every blank.
#include "weft/text/sentencepiece/normalizer.h"

#include "weft/core/error.h"
#include "weft/core/utf8_sequence.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

// `piece` with `blank` for each of its blanks.
void append(std::string& result, std::string_view piece, std::string_view blank) {
  for (const char c : piece) {
    if (c == ' ') {
      result += blank;
    } else {
      result += c;
    }
  }
}

}  // namespace

SentencePieceNormalizer::SentencePieceNormalizer(const NormalizerRules& rules, const ByteTrie& untouched)
    : rules_(rules), map_(rules.character_map), untouched_(untouched) {}

SentencePieceNormalizer::Step SentencePieceNormalizer::step(std::string_view text) const {
  if (const std::size_t length = untouched_.empty() ? 0 : untouched_.longest_prefix(text); length > 0) {
    return {text.substr(0, length), length};
  }
  if (const auto replacement = map_.find(text)) {
    return {replacement->by, replacement->replaced};
  }
  const std::size_t length = utf8_sequence_length(text);
  return length == 0 ? Step{kReplacement, 1} : Step{text.substr(0, length), length};
}

std::string_view SentencePieceNormalizer::without_first_blanks(std::string_view text) const {
  while (!text.empty()) {
    const Step first = step(text);
    if (first.text != " ") {
      break;
    }
    text.remove_prefix(first.consumed);
  }
  return text;
}

std::string SentencePieceNormalizer::operator()(std::string_view text) const {
  const std::size_t limit = 32 * text.size() + (std::size_t{64} << 10);
  const std::string_view blank = rules_.escape_blanks ? kVisibleBlank : " ";
  text = rules_.remove_blanks ? without_first_blanks(text) : text;
  std::string result;
  if (text.empty()) {
    return result;
  }
  result.reserve(text.size() + text.size() / 2);
  if (rules_.dummy_prefix && !rules_.blank_as_suffix) {
    result += blank;
  }
  bool behind_blank = rules_.remove_blanks;
  while (!text.empty()) {
    auto [piece, consumed] = step(text);
    text.remove_prefix(consumed);
    while (behind_blank && piece.starts_with(' ')) {
      piece.remove_prefix(1);
    }
    append(result, piece, blank);
    require(result.size() <= limit, "the model's character map makes the text more than 32 times larger");
    behind_blank = rules_.remove_blanks && (piece.empty() ? behind_blank : piece.ends_with(' '));
  }
  while (rules_.remove_blanks && result.ends_with(blank)) {
    result.resize(result.size() - blank.size());
  }
  if (rules_.dummy_prefix && rules_.blank_as_suffix) {
    result += blank;
  }
  return result;
}

}  // namespace weft::text
