// SPDX-License-Identifier: Apache-2.0
// Sums run in the order of the questions, as in the official programs. Lower case and articles are Unicode's, by the
// crate that text/ stands on.
#include "weft/metrics/answers.h"

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/metrics/crate_functions.h"
#include "weft/metrics/open_answers/word_overlap.h"

namespace weft::metrics {
namespace {

double word_f1(const std::string& prediction, const std::string& truth, AnswerRules rules) {
  if (rules == AnswerRules::kSquad2 && (prediction.empty() || truth.empty())) {
    return prediction == truth ? 1.0 : 0.0;
  }
  return word_overlap(prediction, truth).f1;
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
  // Nothing is let through. The program's 0 says so of probabilities above 0; differences of logits may be below it.
  const double least = order.empty() ? 0.0 : order.front()->no_answer_probability;
  double threshold = least < 0.0 ? least - 1.0 : 0.0;
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
