// SPDX-License-Identifier: Apache-2.0
// Two states a word, with and without a full stop behind it: all that the next word asks about.
#include "weft/tasks/decode/word_forms.h"

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::tasks {
namespace {

/// The best way to a word in a state: the sum of its scores, the label there, and the state before.
struct Way {
  double score = 0;
  std::size_t label = 0;
  std::size_t before = 0;
};

using Ways = std::array<Way, 2>;  // [has a full stop]

Way best_way(const WordLabels& word, const Ways& before, std::size_t stop) {
  Way best{-std::numeric_limits<double>::infinity()};
  for (std::size_t behind_stop = 0; behind_stop < 2; ++behind_stop) {
    for (std::size_t small = 0; small < 2; ++small) {
      const WordLabels::Choice& choice = word.choices[small][stop];
      const double cost = small * behind_stop != 0 && word.has_case ? kSmallBehindFullStop : 0.0;
      const double score = before[behind_stop].score + choice.score - cost;
      if (score > best.score) {
        best = {score, choice.label, behind_stop};
      }
    }
  }
  return best;
}

}  // namespace

WordForm parse_word_form(std::string_view label) {
  WordForm form;
  if (label == "O") {
    return form;
  }
  const auto taken = [](std::string_view& rest, std::string_view prefix) {
    const bool begins = rest.starts_with(prefix);
    rest.remove_prefix(begins ? prefix.size() : 0);
    return begins;
  };
  std::string_view rest = label;
  const bool marked = taken(rest, "S-");
  if (taken(rest, "Title")) {
    form.letters = WordForm::Case::kTitle;
  } else if (taken(rest, "UPPER")) {
    form.letters = WordForm::Case::kUpper;
  }
  if (rest.size() == 1 && kWordMarks.find(rest.front()) != std::string_view::npos) {
    form.mark = rest.front();
    rest = {};
  }
  require(marked && label.size() > 2 && rest.empty(),
          "a label must be O, or S- with Title, UPPER or neither and one of ", kWordMarks, " or none, found ",
          Quoted(label));
  return form;
}

WordLabels::WordLabels(std::span<const double> probabilities, std::span<const WordForm> forms) {
  if (probabilities.empty()) {
    choices[1][0].score = 0;
    return;
  }
  for (std::size_t label = 0; label < forms.size(); ++label) {
    Choice& best = choices[forms[label].letters == WordForm::Case::kLower ? 1 : 0][forms[label].mark == '.' ? 1 : 0];
    if (const double score = std::log(probabilities[label]); score > best.score) {
      best = {score, label};
    }
  }
}

std::vector<std::size_t> agreeing_labels(std::span<const WordLabels> words) {
  std::vector<Ways> ways;
  ways.reserve(words.size());
  Ways before{Way{}, Way{-std::numeric_limits<double>::infinity()}};  // a text begins without a full stop before it
  for (const WordLabels& word : words) {
    Ways here{best_way(word, before, 0), best_way(word, before, 1)};
    const double best = std::max(here[0].score, here[1].score);  // taken off, so that long texts lose no digits
    for (Way& way : here) {
      way.score -= best;
    }
    ways.push_back(here);
    before = here;
  }
  std::vector<std::size_t> labels(words.size());
  std::size_t state = before[1].score > before[0].score ? 1 : 0;
  for (std::size_t i = words.size(); i > 0; --i) {
    const Way& way = ways[i - 1][state];
    labels[i - 1] = way.label;
    state = way.before;
  }
  return labels;
}

}  // namespace weft::tasks
