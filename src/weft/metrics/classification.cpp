// SPDX-License-Identifier: Apache-2.0
// Counts are whole numbers, exact; only the last division and the average over classes round.
#include "weft/metrics/classification.h"

#include <cmath>
#include <map>

#include "weft/core/error.h"
#include "weft/metrics/sums.h"

namespace weft::metrics {
namespace {

template <typename Value>
void check_lengths(std::span<const Value> truth, std::span<const Value> predicted) {
  require(truth.size() == predicted.size(), "as many predictions as true values are needed: expected ", truth.size(),
          ", found ", predicted.size());
  require(!truth.empty(), "a metric needs at least one prediction, found none");
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Counts sum_counts(std::span<const ClassCounts> classes) {
  Counts total;
  for (const auto& [label, counts] : classes) {
    total.correct += counts.correct;
    total.predicted += counts.predicted;
    total.actual += counts.actual;
  }
  return total;
}

// The average of one score over classes.
double average(const std::vector<double>& values, const std::vector<double>& weights, bool weighted) {
  // Where no class is there at all, weights say nothing and every class counts alike.
  return weighted && pairwise_sum(weights) > 0 ? weighted_mean(values, weights) : mean(values);
}

}  // namespace

double accuracy(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted) {
  check_lengths(truth, predicted);
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    equal += truth[i] == predicted[i] ? 1 : 0;
  }
  return ratio(equal, static_cast<std::int64_t>(truth.size()));
}

std::vector<ClassCounts> count_classes(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted) {
  check_lengths(truth, predicted);
  std::map<std::int64_t, Counts> by_label;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    ++by_label[truth[i]].actual;
    ++by_label[predicted[i]].predicted;
    by_label[truth[i]].correct += truth[i] == predicted[i] ? 1 : 0;
  }
  std::vector<ClassCounts> result;
  result.reserve(by_label.size());
  for (const auto& [label, counts] : by_label) {
    result.push_back({label, counts});
  }
  return result;
}

std::vector<ClassCounts> count_labels(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted,
                                      std::int64_t labels) {
  check_lengths(truth, predicted);
  require(labels >= 1 && truth.size() % static_cast<std::size_t>(labels) == 0, "rows of ", labels,
          " labels are expected, found ", truth.size(), " values");
  std::vector<ClassCounts> result(static_cast<std::size_t>(labels));
  for (std::size_t label = 0; label < result.size(); ++label) {
    result[label].label = static_cast<std::int64_t>(label);
    Counts& counts = result[label].counts;
    for (std::size_t i = label; i < truth.size(); i += result.size()) {
      counts.actual += truth[i] != 0 ? 1 : 0;
      counts.predicted += predicted[i] != 0 ? 1 : 0;
      counts.correct += truth[i] != 0 && predicted[i] != 0 ? 1 : 0;
    }
  }
  return result;
}

Scores class_scores(const Counts& counts) {
  return {ratio(counts.correct, counts.predicted), ratio(counts.correct, counts.actual),
          ratio(2 * counts.correct, counts.predicted + counts.actual)};
}

Scores average_scores(std::span<const ClassCounts> classes, Averaging averaging) {
  require(!classes.empty(), "an average needs at least one class, found none");
  if (averaging == Averaging::kMicro) {
    return class_scores(sum_counts(classes));
  }
  std::vector<double> precision;
  std::vector<double> recall;
  std::vector<double> f1;
  std::vector<double> weights;
  for (const auto& [label, counts] : classes) {
    const Scores scores = class_scores(counts);
    precision.push_back(scores.precision);
    recall.push_back(scores.recall);
    f1.push_back(scores.f1);
    weights.push_back(static_cast<double>(counts.actual));
  }
  const bool weighted = averaging == Averaging::kWeighted;
  return {average(precision, weights, weighted), average(recall, weights, weighted), average(f1, weights, weighted)};
}

double matthews_correlation(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted) {
  const std::vector<ClassCounts> classes = count_classes(truth, predicted);
  // In double as the reference: whole numbers are exact up to 2^53, beyond 9e7 predictions.
  double both = 0.0;
  double truth_squares = 0.0;
  double predicted_squares = 0.0;
  double correct = 0.0;
  for (const auto& [label, counts] : classes) {
    const auto actual = static_cast<double>(counts.actual);
    const auto guessed = static_cast<double>(counts.predicted);
    both += actual * guessed;
    truth_squares += actual * actual;
    predicted_squares += guessed * guessed;
    correct += static_cast<double>(counts.correct);
  }
  const auto count = static_cast<double>(truth.size());
  const double spread = (count * count - predicted_squares) * (count * count - truth_squares);
  return spread == 0.0 ? 0.0 : (correct * count - both) / std::sqrt(spread);
}

}  // namespace weft::metrics
