// SPDX-License-Identifier: Apache-2.0
// The labels of a head: those that a model has, or those of the training data in a fixed order; and what weight each
// has in a loss.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/models/encoder_config.h"

namespace weft::fine_tuning {

/// What the head of a run is to be.
struct HeadChoice {
  std::vector<std::string> labels;  ///< id2label; empty where the head has none
  std::string problem_type;         ///< for config.json; empty where it does not apply
  bool fresh = false;               ///< the model has no such head yet: one is initialised
};

/// Names as they come, and their ids once their order is fixed.
class LabelNames {
 public:
  /// The number of a name: in the order of coming until fix_order(), its id afterwards. Errors: kArgument naming
  /// `place` and the labels there are, for a new name once their order is fixed.
  std::int64_t number(const std::string& name, const std::string& place);
  /// The number of a name that is there, or -1.
  std::int64_t find(const std::string& name) const;
  /// Names that came so far, or those in their fixed order.
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// The head for the names that came. A model whose head is `head` keeps its labels and must have them all; one that
  /// has LABEL_0, LABEL_1, ... of the same number gets the names that came; any other gets a fresh head with them,
  /// sorted: as numbers where all are whole numbers, else by their bytes. Errors: kArgument naming a label that the
  /// model's head lacks.
  HeadChoice choose_head(const models::EncoderConfig& config, models::Head head) const;
  /// From here on `labels` are the ids. Returns the id of every name that came, by its number.
  std::vector<std::int64_t> fix_order(const std::vector<std::string>& labels);

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  bool fixed_ = false;
};

/// The words of class_weights as numbers, one a label: "balanced" is (all - count) / count with `against_rest`, else
/// all / (labels * count), as scikit-learn has it; one number is for all. Undefined for no word. Errors: kArgument for
/// another count of words, what is no number above 0, and a label without an example under "balanced".
at::Tensor label_weights(const std::vector<std::string>& words, std::span<const std::int64_t> counts, std::int64_t all,
                         bool against_rest);

}  // namespace weft::fine_tuning
