// SPDX-License-Identifier: Apache-2.0
// One optimiser step of a task: the gradient of all its parts, clipped, applied.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "weft/training/adamw.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// What a step is known by in the metrics.
struct UpdateResult {
  double loss = 0.0;           ///< mean over the parts
  double gradient_norm = 0.0;  ///< before clipping
  double learning_rate = 0.0;
};

/// Forward, backward, clip, AdamW. Keeps references: task and config outlive it.
class Update {
 public:
  Update(Task& task, const TrainerConfig& config);

  /// Runs step `step`, counted from 0. `learning_rate` is asked once the gradient is there, since by minutes it depends
  /// on the time. LibTorch's generator is seeded from (config.seed, step, part) before each part, so that no state of
  /// it outlives a step. Nothing, and nothing changed, when weft::interrupted() turned true before the gradient was
  /// whole. Errors: kNumeric when loss or gradient are not finite, before they touch the weights.
  std::optional<UpdateResult> run(std::int64_t step, const std::function<double()>& learning_rate);

  AdamW& optimizer() noexcept { return optimizer_; }

 private:
  std::optional<double> accumulate(std::int64_t step);

  Task& task_;
  const TrainerConfig& config_;
  AdamW optimizer_;
};

}  // namespace weft::training
