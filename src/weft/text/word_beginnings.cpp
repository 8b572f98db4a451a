// SPDX-License-Identifier: Apache-2.0
// Every token is decoded behind another: some tokenisers drop the blank of a text's first word.
#include "weft/text/word_beginnings.h"

#include <string>
#include <string_view>

namespace weft::text {

std::vector<bool> word_beginnings(const Tokenizer& tokenizer) {
  constexpr std::string_view kSpace = " \t\n\r";
  const auto is_space = [kSpace](char byte) { return kSpace.find(byte) != std::string_view::npos; };
  std::vector<bool> begins(static_cast<std::size_t>(tokenizer.vocabulary_size()));
  const std::vector<std::int64_t> anchor = tokenizer.encode("a");
  const std::string before = tokenizer.decode(anchor);
  for (std::size_t id = 0; id < begins.size(); ++id) {
    std::vector<std::int64_t> pair = anchor;
    pair.push_back(static_cast<std::int64_t>(id));
    const std::string text = tokenizer.decode(pair);
    begins[id] = text.size() > before.size() && is_space(text[before.size()]);
  }
  return begins;
}

}  // namespace weft::text
