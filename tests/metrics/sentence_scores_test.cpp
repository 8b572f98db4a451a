// SPDX-License-Identifier: Apache-2.0
// Scores of sentences are those of ROUGE-1 against the rest; the greedy order is that of all choices tried.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/core/random.h"
#include "weft/metrics/summary/rouge.h"
#include "weft/metrics/summary/sentence_scores.h"

namespace weft::metrics {
namespace {

using Sentences = std::vector<std::string>;

std::string joined(const Sentences& sentences, const std::vector<std::size_t>& places, bool inside) {
  std::string text;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if ((std::find(places.begin(), places.end(), i) != places.end()) == inside) {
      text += sentences[i] + " ";
    }
  }
  return text;
}

Sentences drawn_sentences(std::uint64_t key) {
  const Sentences words = {"the", "loom", "weaves", "threads", "weaving", "a", "thread", "42", "Looms"};
  Sentences sentences;
  for (std::uint64_t i = 0; i < 7; ++i) {
    std::string& sentence = sentences.emplace_back();
    for (std::uint64_t word = 0; word <= random_below(random_bits(key, i, 99), 8); ++word) {
      sentence += words[random_below(random_bits(key, i, word), words.size())] + " ";
    }
  }
  return sentences;
}

TEST(SentenceScores, AreThoseOfRouge) {
  for (std::uint64_t key = 0; key < 20; ++key) {
    const Sentences sentences = drawn_sentences(key);
    const std::vector<double> scores = sentence_scores(sentences, WordCounts::kAll);
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      EXPECT_EQ(scores[i], rouge(joined(sentences, {i}, false), sentences[i], true)[0].f1);
    }
  }
}

TEST(SentenceScores, TheGreedyOrderTakesTheBestEachTime) {
  for (std::uint64_t key = 0; key < 20; ++key) {
    const Sentences sentences = drawn_sentences(key);
    std::vector<std::size_t> taken;
    for (const std::size_t next : greedy_order(sentences, WordCounts::kAll)) {
      std::vector<double> scores;
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        std::vector<std::size_t> tried = taken;
        tried.push_back(i);
        const bool is_new = std::find(taken.begin(), taken.end(), i) == taken.end();
        scores.push_back(is_new ? rouge(joined(sentences, tried, false), joined(sentences, tried, true), true)[0].f1
                                : -1);
      }
      EXPECT_EQ(next, static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
      taken.push_back(next);
    }
    EXPECT_EQ(taken.size(), sentences.size());
  }
}

TEST(SentenceScores, WordsMayCountOnce) {
  const Sentences sentences = {"loom loom loom", "loom thread", "..."};
  // One word of one, and of two.
  EXPECT_DOUBLE_EQ(sentence_scores(sentences, WordCounts::kOnce)[0], 2.0 * 1.0 * 0.5 / 1.5);
  EXPECT_DOUBLE_EQ(sentence_scores(sentences, WordCounts::kAll)[0], 2.0 * (1.0 / 3.0) * 0.5 / (1.0 / 3.0 + 0.5));
  EXPECT_EQ(sentence_scores(sentences, WordCounts::kAll)[2], 0.0);
  EXPECT_TRUE(sentence_scores({}, WordCounts::kAll).empty());
}

}  // namespace
}  // namespace weft::metrics
