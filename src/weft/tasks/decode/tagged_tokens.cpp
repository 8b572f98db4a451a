// SPDX-License-Identifier: Apache-2.0
// The rules are those of the pipeline, its heuristic for vocabularies without marks included.
#include "weft/tasks/decode/tagged_tokens.h"

#include <algorithm>
#include <string>

#include "weft/core/error.h"
#include "weft/tasks/decode/scores.h"
#include "weft/text/utf8.h"

namespace weft::tasks {
namespace {

// The bytes of a place in a text; a place beyond its end is empty.
std::string_view piece_of(std::string_view text, const text::Span& bytes) {
  const auto begin = std::min(static_cast<std::size_t>(bytes.begin), text.size());
  const auto end = std::clamp(static_cast<std::size_t>(bytes.end), begin, text.size());
  return text.substr(begin, end - begin);
}

// Neither the character before the token nor its first one is a blank.
bool touches_the_word_before(std::string_view text, std::int64_t begin) {
  const auto at = static_cast<std::size_t>(begin);
  const bool here = at < text.size() && text[at] == ' ';
  return at > 0 && text[at - 1] != ' ' && !here;
}

}  // namespace

std::vector<TaggedToken> tagged_tokens(const text::HuggingFaceTokenizer& tokenizer, std::string_view text,
                                       const text::Encoding& window, std::span<const float> logits) {
  const std::size_t count = window.ids.size();
  require(count > 0 && logits.size() % count == 0, "a window of ", count,
          " tokens needs as many rows of scores, found ", logits.size(), " numbers");
  const std::size_t labels = logits.size() / count;
  const bool marked = !tokenizer.continuation().empty();
  const std::optional<std::int64_t> unknown = tokenizer.special(text::SpecialRole::kUnknown);
  std::vector<TaggedToken> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    if (window.special_mask[i] != 0) {
      continue;
    }
    TaggedToken token;
    const std::string_view piece = piece_of(text, window.byte_offsets[i]);
    const bool is_unknown = unknown && window.ids[i] == *unknown;
    token.token = is_unknown ? std::string(piece) : tokenizer.token(window.ids[i]);
    token.continues_word = !is_unknown && (marked ? text::code_point_count(token.token) != text::code_point_count(piece)
                                                  : touches_the_word_before(text, window.byte_offsets[i].begin));
    token.scores = softmax(logits.subspan(i * labels, labels));
    token.offsets = window.offsets[i];
    token.byte_offsets = window.byte_offsets[i];
    token.index = static_cast<std::int64_t>(i);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::pair<std::size_t, std::size_t> own_tokens(std::size_t tokens, std::size_t number, std::size_t count,
                                               std::size_t stride) {
  const std::size_t begin = number == 0 ? 0 : std::min(stride / 2, tokens);
  const std::size_t end = number + 1 == count ? tokens : tokens - std::min(stride - stride / 2, tokens);
  return {begin, std::max(begin, end)};
}

}  // namespace weft::tasks
