// SPDX-License-Identifier: Apache-2.0
// Only the end of a text is looked at with each token.
#include "weft/generation/stop_strings.h"

#include <algorithm>

namespace weft::generation {
namespace {

// The end of a text, at least `bytes` and some more of it: earlier tokens were looked at when they came, and the whole
// text each time would cost the square of its length.
std::string tail_text(const text::Tokenizer& tokenizer, std::span<const std::int64_t> made, std::size_t bytes) {
  constexpr std::size_t kMore = 16;  // the start of a piece may be written otherwise than in the text
  const std::size_t wanted = bytes + kMore;
  for (std::size_t count = wanted;; count *= 2) {  // tokens without text, or with half a character
    const std::span<const std::int64_t> tail = made.last(std::min(count, made.size()));
    std::string text = tokenizer.decode({tail.begin(), tail.end()});
    if (text.size() >= wanted || tail.size() == made.size()) {
      return text;
    }
  }
}

}  // namespace

StopRule stop_strings(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return {};
  }
  std::size_t longest = 0;
  for (const std::string& text : texts) {
    longest = std::max(longest, text.size());
  }
  return [&tokenizer, texts, longest](std::span<const std::int64_t> made) {
    const std::string text = tail_text(tokenizer, made, longest);
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& stop) { return text.find(stop) != std::string::npos; });
  };
}

}  // namespace weft::generation
