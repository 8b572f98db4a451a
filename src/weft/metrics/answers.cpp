// SPDX-License-Identifier: Apache-2.0
// Sums run in the order of the questions, as in the official programs. Lower case and articles are Unicode's, by the
// crate that text/ stands on.
#include "weft/metrics/answers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/metrics/crate_functions.h"

namespace weft::metrics {
namespace {

std::vector<std::string> words(const std::string& normalized) {
  std::istringstream stream(normalized);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) {
    result.push_back(word);
  }
  return result;
}

// Words that both have, counted as often as in the one that has fewer.
std::int64_t common_words(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::map<std::string_view, std::int64_t> left;
  for (const std::string& word : first) {
    ++left[word];
  }
  std::int64_t common = 0;
  for (const std::string& word : second) {
    const auto found = left.find(word);
    common += found != left.end() && found->second-- > 0 ? 1 : 0;
  }
  return common;
}

double word_f1(const std::string& prediction, const std::string& truth, AnswerRules rules) {
  const std::vector<std::string> predicted = words(prediction);
  const std::vector<std::string> actual = words(truth);
  if (rules == AnswerRules::kSquad2 && (predicted.empty() || actual.empty())) {
    return predicted == actual ? 1.0 : 0.0;
  }
  const std::int64_t common = common_words(actual, predicted);
  if (common == 0) {
    return 0.0;
  }
  const double precision = static_cast<double>(common) / static_cast<double>(predicted.size());
  const double recall = static_cast<double>(common) / static_cast<double>(actual.size());
  return (2 * precision * recall) / (precision + recall);
}

// The true answers as they are compared.
std::vector<std::string> normalized_truth(std::span<const std::string> truth, AnswerRules rules) {
  std::vector<std::string> result;
  for (const std::string& answer : truth) {
    std::string normalized = normalize_answer(answer);
    if (rules == AnswerRules::kSquad1 || !normalized.empty()) {
      result.push_back(std::move(normalized));
    }
  }
  require(rules == AnswerRules::kSquad2 || !result.empty(), "a question of SQuAD 1.1 has a true answer, found none");
  if (result.empty()) {
    result.emplace_back();
  }
  return result;
}

}  // namespace

std::string normalize_answer(std::string_view text) {
  return from_crate(weft_normalize_answer, text, [&](const std::string& problem) {
    fail(ErrorKind::kArgument, "the answer ", quote(text), " cannot be compared: ", problem);
  });
}

AnswerScore score_answer(std::string_view prediction, std::span<const std::string> truth, AnswerRules rules) {
  const std::string predicted = normalize_answer(prediction);
  AnswerScore best;
  for (const std::string& actual : normalized_truth(truth, rules)) {
    best.exact = std::max(best.exact, predicted == actual ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, word_f1(predicted, actual, rules));
  }
  return best;
}

void AnswerScorer::add(std::string_view prediction, std::span<const std::string> truth, double no_answer_probability) {
  require(std::isfinite(no_answer_probability), "the probability of no answer must be finite, found ",
          no_answer_probability);
  questions_.push_back(
      {score_answer(prediction, truth, rules_), no_answer_probability, !truth.empty(), !prediction.empty()});
}

AnswerScore AnswerScorer::thresholded(const Question& question, double threshold) const {
  if (question.no_answer_probability <= threshold) {
    return question.score;
  }
  return question.has_answer ? AnswerScore{0.0, 0.0} : AnswerScore{1.0, 1.0};
}

AnswerMean AnswerScorer::mean_where(double threshold, bool with_answer, bool without) const {
  AnswerMean mean;
  for (const Question& question : questions_) {
    if (question.has_answer ? with_answer : without) {
      const AnswerScore score = thresholded(question, threshold);
      mean.percent.exact += score.exact;
      mean.percent.f1 += score.f1;
      ++mean.questions;
    }
  }
  if (mean.questions > 0) {
    const auto count = static_cast<double>(mean.questions);
    mean.percent = {100.0 * mean.percent.exact / count, 100.0 * mean.percent.f1 / count};
  }
  return mean;
}

// find_best_thresh of the official program: predictions are let through from the least likely to have no answer on.
BestThreshold AnswerScorer::best_threshold(double AnswerScore::* figure) const {
  std::vector<const Question*> order;
  double score = 0.0;
  for (const Question& question : questions_) {
    order.push_back(&question);
    score += question.has_answer ? 0.0 : 1.0;
  }
  std::stable_sort(order.begin(), order.end(), [](const Question* a, const Question* b) {
    return a->no_answer_probability < b->no_answer_probability;
  });
  double best = score;
  double threshold = 0.0;
  for (const Question* question : order) {
    const double spoilt = question->predicted ? -1.0 : 0.0;
    score += question->has_answer ? question->score.*figure : spoilt;
    if (score > best) {
      best = score;
      threshold = question->no_answer_probability;
    }
  }
  return {100.0 * best / static_cast<double>(questions_.size()), threshold};
}

AnswerReport AnswerScorer::report(double threshold) const {
  require(!questions_.empty(), "a report needs at least one question, found none");
  return {mean_where(threshold, true, true), mean_where(threshold, true, false), mean_where(threshold, false, true),
          best_threshold(&AnswerScore::exact), best_threshold(&AnswerScore::f1)};
}

}  // namespace weft::metrics
