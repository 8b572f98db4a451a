// SPDX-License-Identifier: Apache-2.0
// One optimiser step of a task: the gradient of all its parts, in all processes, clipped, applied.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weft/training/optimizers/optimizer.h"
#include "weft/training/processes/gradient_sum.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// What a step is known by in the metrics.
struct UpdateResult {
  double loss = 0.0;           ///< mean over the parts, by Task::weight
  double gradient_norm = 0.0;  ///< before clipping
  double learning_rate = 0.0;
};

/// Forward, backward, sum over processes, clip, optimiser. Keeps references: task and config outlive it. Parts are
/// dealt out: process r of n computes parts r, r + n, ...
class Update {
 public:
  /// Freezes what config.freeze names. Errors: kArgument as freeze(), and for more processes than a step has parts.
  Update(Task& task, const TrainerConfig& config);

  /// Runs step `step`, counted from 0. `learning_rate` is asked once the gradient is there, since by minutes it depends
  /// on the time. LibTorch's generator is seeded from (config.seed, step, part) before each part, so that no state of
  /// it outlives a step. Nothing, and nothing changed, when weft::interrupted() turned true before the gradient was
  /// whole (with several processes: before the step). Errors: kNumeric when loss or gradient are not finite, before
  /// they touch the weights.
  std::optional<UpdateResult> run(std::int64_t step, const std::function<double()>& learning_rate);

  Optimizer& optimizer() noexcept { return *optimizer_; }

 private:
  std::optional<std::vector<double>> part_weights(std::int64_t step);
  std::optional<at::Tensor> accumulate(std::int64_t step);
  at::Tensor part_loss(std::int64_t step, std::int64_t part);

  Task& task_;
  const TrainerConfig& config_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<GradientSum> sum_;  // null in a process alone
};

}  // namespace weft::training
