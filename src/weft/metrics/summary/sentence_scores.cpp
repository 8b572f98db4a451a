// SPDX-License-Identifier: Apache-2.0
// Words are numbered, and a set of sentences is a count of each.
#include "weft/metrics/summary/sentence_scores.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "weft/metrics/summary/plain_words.h"

namespace weft::metrics {
namespace {

/// The words of a text by sentence, and how often each comes in the sentences that are taken.
class ScoredSentences {
 public:
  ScoredSentences(std::span<const std::string> sentences, WordCounts counts) : once_(counts == WordCounts::kOnce) {
    std::unordered_map<std::string, std::size_t> numbers;
    const bool for_rouge = suits_rouge(sentences);
    for (const std::string& sentence : sentences) {
      std::vector<std::size_t>& words = words_.emplace_back();
      for (std::string& word : scored_words(sentence, for_rouge)) {
        words.push_back(numbers.emplace(std::move(word), numbers.size()).first->second);
      }
    }
    taken_.resize(numbers.size());
    rest_.resize(numbers.size());
    for (const auto& words : words_) {
      for (const std::size_t word : words) {
        ++rest_[word];
      }
    }
  }

  std::size_t size() const { return words_.size(); }
  /// Moves a sentence from the rest to those that are taken, or back.
  void move(std::size_t sentence, bool to_taken) {
    for (const std::size_t word : words_[sentence]) {
      taken_[word] += to_taken ? 1 : -1;
      rest_[word] -= to_taken ? 1 : -1;
    }
  }
  /// ROUGE-1's F of what is taken against the rest.
  double f1() const {
    std::int64_t common = 0;
    std::int64_t taken = 0;
    std::int64_t rest = 0;
    for (std::size_t word = 0; word < taken_.size(); ++word) {
      const std::int64_t here = counted(taken_[word]);
      const std::int64_t there = counted(rest_[word]);
      common += std::min(here, there);
      taken += here;
      rest += there;
    }
    // The arithmetic of rouge_score, step by step.
    const double precision = static_cast<double>(common) / static_cast<double>(std::max<std::int64_t>(taken, 1));
    const double recall = static_cast<double>(common) / static_cast<double>(std::max<std::int64_t>(rest, 1));
    return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0.0;
  }

 private:
  std::int64_t counted(std::int64_t count) const { return once_ ? std::min<std::int64_t>(count, 1) : count; }

  bool once_;
  std::vector<std::vector<std::size_t>> words_;
  std::vector<std::int64_t> taken_;
  std::vector<std::int64_t> rest_;
};

}  // namespace

std::vector<double> sentence_scores(std::span<const std::string> sentences, WordCounts counts) {
  ScoredSentences text(sentences, counts);
  std::vector<double> scores;
  for (std::size_t sentence = 0; sentence < text.size(); ++sentence) {
    text.move(sentence, true);
    scores.push_back(text.f1());
    text.move(sentence, false);
  }
  return scores;
}

std::vector<std::size_t> greedy_order(std::span<const std::string> sentences, WordCounts counts) {
  ScoredSentences text(sentences, counts);
  std::vector<std::size_t> order;
  std::vector<bool> chosen(text.size());
  while (order.size() < text.size()) {
    double best = -1.0;
    std::size_t next = 0;
    for (std::size_t sentence = 0; sentence < text.size(); ++sentence) {
      if (chosen[sentence]) {
        continue;
      }
      text.move(sentence, true);
      const double score = text.f1();
      text.move(sentence, false);
      if (score > best) {
        best = score;
        next = sentence;
      }
    }
    chosen[next] = true;
    text.move(next, true);
    order.push_back(next);
  }
  return order;
}

}  // namespace weft::metrics
