// SPDX-License-Identifier: Apache-2.0
// Accuracy, precision, recall, F1 and Matthews' correlation of predicted classes, as scikit-learn defines them
// (accuracy_score, precision_recall_fscore_support with zero_division=0, matthews_corrcoef).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::metrics {

/// How often a class was right, predicted and there.
struct Counts {
  std::int64_t correct = 0;
  std::int64_t predicted = 0;
  std::int64_t actual = 0;
};

/// The counts of one class or label.
struct ClassCounts {
  std::int64_t label = 0;
  Counts counts;
};

/// Each 0 where its denominator is.
struct Scores {
  double precision = 0.0;  ///< correct / predicted
  double recall = 0.0;     ///< correct / actual
  double f1 = 0.0;         ///< 2 correct / (predicted + actual)
};

/// How the scores of several classes become one.
enum class Averaging {
  kMicro,     ///< of the summed counts
  kMacro,     ///< every class alike
  kWeighted,  ///< every class by how often it is there
};

/// Share of equal entries. Errors: kArgument for different lengths, or nothing to compare; so below.
double accuracy(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted);

/// Counts of every class that is in either, by ascending label.
std::vector<ClassCounts> count_classes(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted);

/// Counts of every label of a multi-label task: [rows, labels] row by row, 1 where a label applies.
std::vector<ClassCounts> count_labels(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted,
                                      std::int64_t labels);

/// Scores of one class.
Scores class_scores(const Counts& counts);
/// Scores of several. Errors: kArgument for no class.
Scores average_scores(std::span<const ClassCounts> classes, Averaging averaging);

/// Matthews' correlation for any number of classes (Gorodkin 2004); 0 where it is undefined, as scikit-learn has it.
double matthews_correlation(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted);

}  // namespace weft::metrics
