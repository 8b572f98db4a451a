// SPDX-License-Identifier: Apache-2.0
// Tokens meet where they hold the same symbol of a word.
#include "weft/text/sampling/drawn_tokens.h"

#include <algorithm>

#include "weft/core/error.h"

namespace weft::text {

void DrawnTokens::append(std::int64_t id) {
  const auto place = static_cast<std::int64_t>(ids.size());
  ids.push_back(id);
  first.push_back(place);
  last.push_back(place);
}

void append_word(DrawnTokens& tokens, std::span<const std::int64_t> given, std::span<const SizedToken> drawn) {
  require(!drawn.empty(), "subword sampling: a word of ", given.size(), " tokens has no text");
  const auto before = static_cast<std::int64_t>(tokens.ids.size());
  std::vector<std::int64_t> ends;
  for (const SizedToken& token : drawn) {
    tokens.ids.push_back(token.id);
    ends.push_back((ends.empty() ? 0 : ends.back()) + token.symbols);
  }
  const auto holder = [&](std::int64_t symbol) {
    const auto found = std::upper_bound(ends.begin(), ends.end() - 1, symbol);
    return before + (found - ends.begin());
  };
  std::int64_t begin = 0;
  for (const std::int64_t symbols : given) {
    tokens.first.push_back(holder(begin));
    begin += symbols;
    tokens.last.push_back(holder(begin - 1));
  }
}

}  // namespace weft::text
