// SPDX-License-Identifier: Apache-2.0
// Drop, fill, shuffle, in this order.
#include "weft/text/noise/word_noise.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::text {
namespace {

constexpr std::string_view kWordBlanks = " \t\r\n\v\f";

std::vector<std::string> blank_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(kWordBlanks); at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kWordBlanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kWordBlanks, end);
  }
  return words;
}

std::vector<std::string> dropped(const std::vector<std::string>& words, double share, NoiseDraws& draws) {
  std::vector<std::string> left;
  for (const std::string& word : words) {
    if (!(draws.unit() < share)) {
      left.push_back(word);
    }
  }
  if (left.empty() && !words.empty()) {
    left.push_back(words[draws.below(words.size())]);
  }
  return left;
}

}  // namespace

bool has_word(std::string_view text, std::string_view word) {
  const std::vector<std::string> words = blank_words(text);
  return std::ranges::find(words, word) != words.end();
}

std::string noised_words(std::string_view text, const WordNoise& noise, NoiseDraws& draws) {
  std::vector<std::string> words = dropped(blank_words(text), noise.drop, draws);
  for (std::string& word : words) {
    word = draws.unit() < noise.blank ? noise.filler : word;
  }
  std::vector<std::pair<double, std::string>> placed;
  for (std::size_t place = 0; place < words.size(); ++place) {
    const double moved = noise.shuffle == 0 ? 0.0 : draws.unit() * static_cast<double>(noise.shuffle + 1);
    placed.emplace_back(static_cast<double>(place) + moved, std::move(words[place]));
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string line;
  for (const auto& [place, word] : placed) {
    line.append(line.empty() ? "" : " ").append(word);
  }
  return line;
}

}  // namespace weft::text
