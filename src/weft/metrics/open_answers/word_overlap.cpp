// SPDX-License-Identifier: Apache-2.0
// Lower case comes before punctuation goes, for Unicode's rule of the final sigma looks at what stands around it.
#include "weft/metrics/open_answers/word_overlap.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "weft/metrics/answers.h"
#include "weft/metrics/translation/code_points.h"

namespace weft::metrics {
namespace {

// Words that both have, counted as often as in the one that has fewer.
std::int64_t common_words(const std::vector<std::string_view>& first, const std::vector<std::string_view>& second) {
  std::map<std::string_view, std::int64_t> left;
  for (const std::string_view word : first) {
    ++left[word];
  }
  return std::count_if(second.begin(), second.end(), [&](std::string_view word) {
    const auto found = left.find(word);
    return found != left.end() && found->second-- > 0;
  });
}

bool is_ascii_punctuation(char byte) noexcept {
  return (byte >= '!' && byte <= '/') || (byte >= ':' && byte <= '@') || (byte >= '[' && byte <= '`') ||
         (byte >= '{' && byte <= '~');
}

}  // namespace

double f1_of(double precision, double recall) noexcept {
  return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0.0;
}

WordOverlap word_overlap(std::string_view prediction, std::string_view truth) {
  const std::vector<std::string_view> predicted = words_of(prediction);
  const std::vector<std::string_view> actual = words_of(truth);
  const std::int64_t common = common_words(actual, predicted);
  if (common == 0) {
    return {};
  }
  const double precision = static_cast<double>(common) / static_cast<double>(predicted.size());
  const double recall = static_cast<double>(common) / static_cast<double>(actual.size());
  return {precision, recall, f1_of(precision, recall)};
}

std::string normalize_trivia_answer(std::string_view text) {
  constexpr std::array<std::string_view, 3> kQuotes{"\u2018", "\u2019", "\u00b4"};
  std::string lower = lower_case(text);
  std::replace_if(lower.begin(), lower.end(), is_ascii_punctuation, ' ');
  for (const std::string_view quote : kQuotes) {
    lower = with_replaced(lower, quote, " ");
  }
  return normalize_answer(lower);
}

}  // namespace weft::metrics
