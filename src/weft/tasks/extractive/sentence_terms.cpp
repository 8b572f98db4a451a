// SPDX-License-Identifier: Apache-2.0
// Words get their numbers in the order in which they come.
#include "weft/tasks/extractive/sentence_terms.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "weft/metrics/summary/plain_words.h"

namespace weft::tasks {
namespace {

std::vector<TermCount> counted_terms(std::vector<std::uint32_t> words) {
  std::sort(words.begin(), words.end());
  std::vector<TermCount> counts;
  for (const std::uint32_t word : words) {
    if (counts.empty() || counts.back().term != word) {
      counts.push_back({word, 0});
    }
    ++counts.back().count;
  }
  return counts;
}

}  // namespace

SentenceTerms sentence_terms(std::string_view text, const text::SentenceRules& rules) {
  SentenceTerms result;
  result.places = text::find_sentences(text, rules);
  result.words.reserve(result.places.size());
  result.counts.reserve(result.places.size());
  std::unordered_map<std::string, std::uint32_t> numbers;
  for (const text::SentencePlace& place : result.places) {
    std::vector<std::uint32_t>& words = result.words.emplace_back();
    for (std::string& word : metrics::plain_words(place.in(text))) {
      words.push_back(numbers.try_emplace(std::move(word), static_cast<std::uint32_t>(numbers.size())).first->second);
    }
    result.counts.push_back(counted_terms(words));
  }
  result.terms = static_cast<std::uint32_t>(numbers.size());
  return result;
}

}  // namespace weft::tasks
