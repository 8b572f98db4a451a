// SPDX-License-Identifier: Apache-2.0
// Labels of a restorer: their forms, and what agrees in a text.
#include "weft/tasks/decode/word_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "support/expect_error.h"

namespace weft::tasks {
namespace {

using test::expect_error;

TEST(WordForm, IsReadFromALabel) {
  EXPECT_EQ(parse_word_form("O").mark, 0);
  EXPECT_EQ(parse_word_form("S-Title").letters, WordForm::Case::kTitle);
  EXPECT_EQ(parse_word_form("S-UPPER?").letters, WordForm::Case::kUpper);
  EXPECT_EQ(parse_word_form("S-UPPER?").mark, '?');
  EXPECT_EQ(parse_word_form("S-,").mark, ',');
  EXPECT_EQ(parse_word_form("S-,").letters, WordForm::Case::kLower);
  for (const char* label : {"", "S-", "Title", "B-PER", "S-Title,,", "S-lower", "S--", "O,"}) {
    expect_error(ErrorKind::kArgument, {"a label must be"}, [&] { parse_word_form(label); });
  }
}

const std::vector<WordForm> kForms = {parse_word_form("O"), parse_word_form("S-Title"), parse_word_form("S-."),
                                      parse_word_form("S-Title."), parse_word_form("S-?")};

/// Scores are logarithms of probabilities, up to a constant for each word.
std::vector<WordLabels> words_with(const std::vector<std::vector<double>>& scores) {
  std::vector<WordLabels> words;
  for (std::vector<double> word : scores) {
    std::ranges::transform(word, word.begin(), [](double score) { return std::exp(score); });
    words.emplace_back(word, kForms);
  }
  return words;
}

// Every sequence of labels, scored as the header says.
std::vector<std::size_t> by_trying_all(const std::vector<std::vector<double>>& scores, const std::vector<bool>& cased) {
  std::vector<std::size_t> labels(scores.size(), 0);
  std::vector<std::size_t> best;
  double best_score = -1e30;
  for (bool more = true; more;) {
    double score = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const bool small = kForms[labels[i]].letters == WordForm::Case::kLower;
      const bool behind_stop = i > 0 && kForms[labels[i - 1]].mark == '.';
      score += scores[i][labels[i]] - (small && behind_stop && cased[i] ? kSmallBehindFullStop : 0.0);
    }
    if (score > best_score) {
      best_score = score;
      best = labels;
    }
    more = false;
    for (std::size_t i = 0; i < labels.size() && !more; ++i) {
      labels[i] = (labels[i] + 1) % kForms.size();
      more = labels[i] != 0;
    }
  }
  return best;
}

TEST(AgreeingLabels, AreTheBestOfAll) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, 2);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<double>> scores(1 + round % 6, std::vector<double>(kForms.size()));
    std::vector<bool> cased(scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      std::ranges::generate(scores[i], [&] { return normal(engine); });
      cased[i] = engine() % 4 != 0;
    }
    std::vector<WordLabels> words = words_with(scores);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i].has_case = cased[i];
    }
    EXPECT_EQ(agreeing_labels(words), by_trying_all(scores, cased)) << round;
  }
}

TEST(AgreeingLabels, OfAFullStopAndTheWordBehindItTheSurerOneStays) {
  // A full stop for sure, then rather a small word: it becomes a capital. Half a full stop, then surely a small word:
  // no stop.
  EXPECT_EQ(agreeing_labels(words_with({{0, 0, 9, 0, 0}, {2, 1, 0, 0, 0}})), (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(agreeing_labels(words_with({{1, 0, 2, 0, 0}, {9, 0, 0, 0, 0}})), (std::vector<std::size_t>{0, 0}));
  // A question mark may stand inside of a sentence; a number has no case.
  EXPECT_EQ(agreeing_labels(words_with({{0, 0, 0, 0, 2}, {9, 0, 0, 0, 0}})), (std::vector<std::size_t>{4, 0}));
  std::vector<WordLabels> number = words_with({{1, 0, 2, 0, 0}, {9, 0, 0, 0, 0}});
  number[1].has_case = false;
  EXPECT_EQ(agreeing_labels(number), (std::vector<std::size_t>{2, 0}));
}

TEST(AgreeingLabels, AWordWithoutALabelIsThePlainForm) {
  EXPECT_TRUE(agreeing_labels({}).empty());
  EXPECT_EQ(agreeing_labels(std::vector<WordLabels>(3)), (std::vector<std::size_t>{0, 0, 0}));
}

}  // namespace
}  // namespace weft::tasks
