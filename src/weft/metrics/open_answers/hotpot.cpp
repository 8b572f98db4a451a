// SPDX-License-Identifier: Apache-2.0
// Each figure is a sum of doubles in the order of the questions, divided once.
#include "weft/metrics/open_answers/hotpot.h"

#include <algorithm>
#include <set>

#include "weft/core/error.h"
#include "weft/metrics/answers.h"
#include "weft/metrics/open_answers/word_overlap.h"

namespace weft::metrics {
namespace {

bool is_no_span(const std::string& normalized) {
  return normalized == "yes" || normalized == "no" || normalized == "noanswer";
}

void add_to(OverlapScore& sum, const OverlapScore& score) {
  sum.exact += score.exact;
  sum.f1 += score.f1;
  sum.precision += score.precision;
  sum.recall += score.recall;
}

OverlapScore mean_overlap(const OverlapScore& sum, std::int64_t questions) {
  const auto count = static_cast<double>(questions);
  return {sum.exact / count, sum.f1 / count, sum.precision / count, sum.recall / count};
}

}  // namespace

OverlapScore score_hotpot_answer(std::string_view prediction, std::string_view truth) {
  const std::string predicted = normalize_answer(prediction);
  const std::string actual = normalize_answer(truth);
  const bool equal = predicted == actual;
  if (!equal && (is_no_span(predicted) || is_no_span(actual))) {
    return {};
  }
  const WordOverlap overlap = word_overlap(predicted, actual);
  return {equal ? 1.0 : 0.0, overlap.f1, overlap.precision, overlap.recall};
}

OverlapScore score_hotpot_facts(const std::vector<readers::SupportingFact>& prediction,
                                const std::vector<readers::SupportingFact>& truth) {
  const std::set<readers::SupportingFact> predicted(prediction.begin(), prediction.end());
  const std::set<readers::SupportingFact> actual(truth.begin(), truth.end());
  const auto right = static_cast<double>(std::count_if(
      predicted.begin(), predicted.end(), [&](const readers::SupportingFact& fact) { return actual.contains(fact); }));
  const double precision = predicted.empty() ? 0.0 : right / static_cast<double>(predicted.size());
  const double recall = actual.empty() ? 0.0 : right / static_cast<double>(actual.size());
  return {predicted == actual ? 1.0 : 0.0, f1_of(precision, recall), precision, recall};
}

void HotpotScorer::add(const HotpotPrediction& prediction, std::string_view answer,
                       const std::vector<readers::SupportingFact>& facts) {
  ++sums_.questions;
  OverlapScore of_answer;
  OverlapScore of_facts;
  if (prediction.answer) {
    of_answer = score_hotpot_answer(*prediction.answer, answer);
    add_to(sums_.answer, of_answer);
  } else {
    ++sums_.missing_answers;
  }
  if (prediction.facts) {
    of_facts = score_hotpot_facts(*prediction.facts, facts);
    add_to(sums_.facts, of_facts);
  } else {
    ++sums_.missing_facts;
  }
  const double precision = of_answer.precision * of_facts.precision;
  const double recall = of_answer.recall * of_facts.recall;
  add_to(sums_.joint, {of_answer.exact * of_facts.exact, f1_of(precision, recall), precision, recall});
}

HotpotReport HotpotScorer::report() const {
  require(sums_.questions > 0, "a report needs at least one question, found none");
  HotpotReport report = sums_;
  report.answer = mean_overlap(sums_.answer, sums_.questions);
  report.facts = mean_overlap(sums_.facts, sums_.questions);
  report.joint = mean_overlap(sums_.joint, sums_.questions);
  return report;
}

}  // namespace weft::metrics
