// SPDX-License-Identifier: Apache-2.0
// The best evaluation of a run so far, and whether it is time to give up. A function of the log alone, so that a
// resumed run judges as one never stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/training/task.h"

namespace weft::training {

/// Throws kArgument when evaluations of `task` will have no figure `metric`, as far as the task knows; an empty name
/// asks for none.
void check_metric(const std::string& metric, Task& task);

/// Watches one figure of the evaluations.
class BestFigure {
 public:
  /// `metric` names the figure; an empty one watches nothing.
  explicit BestFigure(std::string metric) : metric_(std::move(metric)) {}

  /// Takes an evaluation in; true when it is the best so far. A figure that is null (undefined) never is: the first of
  /// these is warned of, and none counts in since_best() before there is a value. Errors: kArgument when the evaluation
  /// has no such figure, naming those it has.
  bool consider(std::int64_t step, const formats::Json& figures);
  /// Evaluations since the best one; 0 without one.
  std::int64_t since_best() const noexcept { return since_best_; }
  /// {"metric", "value", "step"}, or an empty object.
  formats::Json json() const;

 private:
  std::string metric_;
  std::optional<double> value_;
  std::int64_t step_ = 0;
  std::int64_t since_best_ = 0;
  bool has_warned_ = false;
};

}  // namespace weft::training
