// SPDX-License-Identifier: Apache-2.0
// Area under the receiver operating characteristic: the chance that a positive example scores above a negative one, a
// tie counting half (scikit-learn's roc_auc_score); and its mean and median over groups of labels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::metrics {

/// truth: 1 for positive examples. Nothing where only one class is there: the area is undefined then.
/// Errors: kArgument for different lengths or a score that is NaN.
std::optional<double> roc_auc(std::span<const std::uint8_t> truth, std::span<const double> scores);

/// Labels that are reported as one.
struct LabelGroup {
  std::string name;
  std::vector<std::int64_t> labels;  ///< columns
};

/// The mean and the median over a group's labels that have both classes. The median of an even number is the mean of
/// the two in the middle, as NumPy's.
struct GroupAuc {
  std::string name;
  std::optional<double> mean;    ///< nothing where no label has both classes
  std::optional<double> median;  ///< likewise
  std::int64_t labels = 0;       ///< that were averaged
  std::int64_t undefined = 0;    ///< that have one class only, and are left out
};

/// truth and scores [rows, labels], row by row. Errors: kArgument, also for a label that is no column.
std::vector<GroupAuc> grouped_roc_auc(std::span<const std::uint8_t> truth, std::span<const double> scores,
                                      std::int64_t labels, std::span<const LabelGroup> groups);

}  // namespace weft::metrics
