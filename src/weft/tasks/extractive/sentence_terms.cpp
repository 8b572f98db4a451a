// SPDX-License-Identifier: Apache-2.0
// Words get their numbers in the order in which they come.
#include "weft/tasks/extractive/sentence_terms.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "weft/metrics/translation/code_points.h"

namespace weft::tasks {
namespace {

bool ends_word(char32_t letter) {
  const bool ascii = (letter >= U'!' && letter <= U'/') || (letter >= U':' && letter <= U'@') ||
                     (letter >= U'[' && letter <= U'`') || (letter >= U'{' && letter <= U'~');
  return ascii || (letter >= 0x2000 && letter <= 0x206F) || metrics::is_blank(letter);
}

std::vector<std::string_view> plain_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  const auto end_word = [&](std::size_t end) {
    if (end > begin) {
      words.push_back(text.substr(begin, end - begin));
    }
  };
  for (std::size_t place = 0; place < text.size();) {
    const metrics::Letter letter = metrics::first_letter(text.substr(place));
    if (ends_word(letter.value)) {
      end_word(place);
      begin = place + letter.bytes;
    }
    place += letter.bytes;
  }
  end_word(text.size());
  return words;
}

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
    const std::string lower = metrics::lower_case(place.in(text));
    std::vector<std::uint32_t>& words = result.words.emplace_back();
    for (const std::string_view word : plain_words(lower)) {
      words.push_back(numbers.try_emplace(std::string(word), static_cast<std::uint32_t>(numbers.size())).first->second);
    }
    result.counts.push_back(counted_terms(words));
  }
  result.terms = static_cast<std::uint32_t>(numbers.size());
  return result;
}

}  // namespace weft::tasks
