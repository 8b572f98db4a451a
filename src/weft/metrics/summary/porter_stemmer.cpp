// SPDX-License-Identifier: Apache-2.0
// The steps of the paper in its order, each a list of endings of which the first that fits decides. Where NLTK goes
// other ways than the paper, a comment says so.
#include "weft/metrics/summary/porter_stemmer.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace weft::metrics {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

bool is_vowel_letter(char letter) noexcept {
  return letter == 'a' || letter == 'e' || letter == 'i' || letter == 'o' || letter == 'u';
}

// True for consonants: y is one unless a consonant stands before it.
std::vector<bool> consonants(std::string_view word) {
  std::vector<bool> result(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    result[i] = word[i] == 'y' ? i == 0 || !result[i - 1] : !is_vowel_letter(word[i]);
  }
  return result;
}

// m of the paper: how often a consonant follows a vowel.
int measure(std::string_view stem) {
  const std::vector<bool> letters = consonants(stem);
  int count = 0;
  for (std::size_t i = 1; i < letters.size(); ++i) {
    count += !letters[i - 1] && letters[i] ? 1 : 0;
  }
  return count;
}

bool has_vowel(std::string_view stem) {
  const std::vector<bool> letters = consonants(stem);
  return std::find(letters.begin(), letters.end(), false) != letters.end();
}

bool ends_in_double_consonant(std::string_view word) {
  return word.size() >= 2 && word.back() == word[word.size() - 2] && consonants(word).back();
}

// *o of the paper. NLTK: also a vowel and a consonant that are the whole stem.
bool ends_in_short_syllable(std::string_view word) {
  const std::vector<bool> letters = consonants(word);
  const std::size_t size = word.size();
  if (size == 2) {
    return !letters[0] && letters[1];
  }
  return size >= 3 && letters[size - 3] && !letters[size - 2] && letters[size - 1] && word.back() != 'w' &&
         word.back() != 'x' && word.back() != 'y';
}

std::string_view without(std::string_view word, std::size_t letters) { return word.substr(0, word.size() - letters); }

// The first ending that the word has is replaced where `fits(stem, ending)`; else the word stays.
template <typename Fits>
std::string with_ending(const std::string& word, std::span<const Replacement> endings, const Fits& fits) {
  for (const auto& [ending, replacement] : endings) {
    if (word.ends_with(ending)) {
      const std::string_view stem = without(word, ending.size());
      return fits(stem, ending) ? std::string(stem).append(replacement) : word;
    }
  }
  return word;
}

std::string plural(const std::string& word) {
  // NLTK: dies -> die, but flies -> fli.
  if (word.size() == 4 && word.ends_with("ies")) {
    return std::string(without(word, 1));
  }
  constexpr std::array<Replacement, 4> kEndings = {{{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}}};
  return with_ending(word, kEndings, [](auto, auto) { return true; });
}

// What -ed and -ing leave behind.
std::string repaired(const std::string& stem) {
  for (const std::string_view ending : {"at", "bl", "iz"}) {
    if (stem.ends_with(ending)) {
      return stem + "e";
    }
  }
  if (ends_in_double_consonant(stem)) {
    const char last = stem.back();
    return last == 'l' || last == 's' || last == 'z' ? stem : std::string(without(stem, 1));
  }
  return measure(stem) == 1 && ends_in_short_syllable(stem) ? stem + "e" : stem;
}

std::string past(const std::string& word) {
  // NLTK: died -> die, spied -> spi.
  if (word.ends_with("ied")) {
    return std::string(without(word, word.size() == 4 ? 1 : 2));
  }
  if (word.ends_with("eed")) {
    return measure(without(word, 3)) > 0 ? std::string(without(word, 1)) : word;
  }
  for (const std::string_view ending : {"ed", "ing"}) {
    const std::string_view stem = word.ends_with(ending) ? without(word, ending.size()) : std::string_view();
    if (has_vowel(stem)) {
      return repaired(std::string(stem));
    }
  }
  return word;
}

// NLTK: y becomes i behind a consonant that is not the whole stem.
std::string final_y(const std::string& word) {
  constexpr std::array<Replacement, 1> kEndings = {{{"y", "i"}}};
  return with_ending(word, kEndings,
                     [](std::string_view stem, auto) { return stem.size() > 1 && consonants(stem).back(); });
}

bool has_measure(std::string_view stem, std::string_view /*ending*/) { return measure(stem) > 0; }

std::string double_suffix(const std::string& word) {
  // NLTK: -alli first, and what it leaves goes through this step again.
  if (word.ends_with("alli") && measure(without(word, 4)) > 0) {
    return double_suffix(std::string(without(word, 2)));
  }
  constexpr std::array<Replacement, 22> kEndings = {
      {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
       {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
       {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
       {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
       {"fulli", "ful"},   {"logi", "log"}}};
  // NLTK: the l of -logi counts to the stem.
  return with_ending(word, kEndings, [&](std::string_view stem, std::string_view ending) {
    return measure(ending == "logi" ? without(word, 3) : stem) > 0;
  });
}

std::string adjective(const std::string& word) {
  constexpr std::array<Replacement, 7> kEndings = {
      {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""}}};
  return with_ending(word, kEndings, has_measure);
}

std::string single_suffix(const std::string& word) {
  constexpr std::array<Replacement, 19> kEndings = {{{"al", ""},
                                                     {"ance", ""},
                                                     {"ence", ""},
                                                     {"er", ""},
                                                     {"ic", ""},
                                                     {"able", ""},
                                                     {"ible", ""},
                                                     {"ant", ""},
                                                     {"ement", ""},
                                                     {"ment", ""},
                                                     {"ent", ""},
                                                     {"ion", ""},
                                                     {"ou", ""},
                                                     {"ism", ""},
                                                     {"ate", ""},
                                                     {"iti", ""},
                                                     {"ous", ""},
                                                     {"ive", ""},
                                                     {"ize", ""}}};
  return with_ending(word, kEndings, [](std::string_view stem, std::string_view ending) {
    return measure(stem) > 1 && (ending != "ion" || stem.back() == 's' || stem.back() == 't');
  });
}

std::string final_e(const std::string& word) {
  if (!word.ends_with('e')) {
    return word;
  }
  const std::string_view stem = without(word, 1);
  const int count = measure(stem);
  return count > 1 || (count == 1 && !ends_in_short_syllable(stem)) ? std::string(stem) : word;
}

std::string final_l(const std::string& word) {
  return word.ends_with("ll") && measure(without(word, 1)) > 1 ? std::string(without(word, 1)) : word;
}

// NLTK's words that no rule fits.
std::string_view irregular(std::string_view word) {
  constexpr std::array<Replacement, 16> kForms = {{{"sky", "sky"},
                                                   {"skies", "sky"},
                                                   {"dying", "die"},
                                                   {"lying", "lie"},
                                                   {"tying", "tie"},
                                                   {"news", "news"},
                                                   {"innings", "inning"},
                                                   {"inning", "inning"},
                                                   {"outings", "outing"},
                                                   {"outing", "outing"},
                                                   {"cannings", "canning"},
                                                   {"canning", "canning"},
                                                   {"howe", "howe"},
                                                   {"proceed", "proceed"},
                                                   {"exceed", "exceed"},
                                                   {"succeed", "succeed"}}};
  const auto* found = std::find_if(kForms.begin(), kForms.end(), [&](const auto& form) { return form.first == word; });
  return found == kForms.end() ? std::string_view() : found->second;
}

}  // namespace

std::string porter_stem(std::string_view word) {
  if (const std::string_view stem = irregular(word); !stem.empty()) {
    return std::string(stem);
  }
  std::string stem(word);
  if (stem.size() <= 2) {
    return stem;
  }
  for (const auto& step : {plural, past, final_y, double_suffix, adjective, single_suffix, final_e, final_l}) {
    stem = step(stem);
  }
  return stem;
}

}  // namespace weft::metrics
