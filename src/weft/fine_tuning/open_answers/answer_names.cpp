// SPDX-License-Identifier: Apache-2.0
// A text is cut into words once, whatever the number of names.
#include "weft/fine_tuning/open_answers/answer_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/metrics/translation/code_points.h"
#include "weft/text/utf8.h"

namespace weft::fine_tuning {
namespace {

struct PlacedWord {
  std::string letters;
  text::Span bytes;
};

// How many bytes at the beginning of `text` are no part of a word: a blank, punctuation of ASCII, or a quote.
std::size_t bytes_between_words(std::string_view text) {
  constexpr std::array<std::string_view, 3> kQuotes{"\u2018", "\u2019", "\u00b4"};
  const char byte = text.front();
  const bool is_letter = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  if (static_cast<unsigned char>(byte) < 0x80U) {
    return is_letter ? 0 : 1;
  }
  const auto* const quote =
      std::find_if(kQuotes.begin(), kQuotes.end(), [&](std::string_view one) { return text.starts_with(one); });
  return quote == kQuotes.end() ? 0 : quote->size();
}

std::string small_letters(std::string_view word) {
  return text::is_valid_utf8(word) ? metrics::lower_case(word) : std::string(word);
}

std::vector<PlacedWord> placed_words(std::string_view text) {
  std::vector<PlacedWord> words;
  std::size_t begin = 0;
  const auto end_word = [&](std::size_t end) {
    if (end > begin) {
      std::string letters = small_letters(text.substr(begin, end - begin));
      if (letters != "a" && letters != "an" && letters != "the") {
        words.push_back({std::move(letters), {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)}});
      }
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t between = bytes_between_words(text.substr(at));
    if (between > 0) {
      end_word(at);
      begin = at + between;
    }
    at += std::max<std::size_t>(between, 1);
  }
  end_word(text.size());
  return words;
}

bool follows(const std::vector<PlacedWord>& words, std::size_t first, const std::vector<std::string>& name) {
  if (words.size() - first < name.size()) {
    return false;
  }
  return std::equal(name.begin(), name.end(), words.begin() + static_cast<std::ptrdiff_t>(first),
                    [](const std::string& letters, const PlacedWord& word) { return letters == word.letters; });
}

}  // namespace

AnswerNames::AnswerNames(std::span<const std::string> names) {
  for (const std::string& name : names) {
    std::vector<std::string> words;
    for (PlacedWord& word : placed_words(name)) {
      words.push_back(std::move(word.letters));
    }
    if (words.empty()) {
      continue;
    }
    std::vector<std::vector<std::string>>& known = by_first_word_[words.front()];
    if (std::find(known.begin(), known.end(), words) == known.end()) {
      known.push_back(std::move(words));
    }
  }
}

std::vector<text::Span> AnswerNames::places(std::string_view text) const {
  std::vector<text::Span> found;
  const std::vector<PlacedWord> words = placed_words(text);
  for (std::size_t first = 0; first < words.size(); ++first) {
    const auto names = by_first_word_.find(words[first].letters);
    if (names == by_first_word_.end()) {
      continue;
    }
    for (const std::vector<std::string>& name : names->second) {
      if (follows(words, first, name)) {
        found.push_back({words[first].bytes.begin, words[first + name.size() - 1].bytes.end});
      }
    }
  }
  return found;
}

}  // namespace weft::fine_tuning
