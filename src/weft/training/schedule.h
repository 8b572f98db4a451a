// SPDX-License-Identifier: Apache-2.0
// How much of a run is done, whether that is counted in steps or in minutes, and the learning rate as a pure function
// of it. The clock counts training steps alone: evaluation and checkpoints are left out, and a jump of the system's
// time changes nothing.
#pragma once

#include <chrono>

#include "weft/training/trainer_config.h"

namespace weft::training {

/// A step as parts of the whole run, both in [0, 1]; by minutes the two are the same.
struct RunProgress {
  double begin = 0.0;  ///< done before the step
  double end = 0.0;    ///< done with it
};

/// Part of the run that is warm-up: warmup_steps / steps, or warmup_ratio.
double warmup_part(const TrainerConfig& config);

/// Linear warm-up over w = warmup_part, by the step's end; then, by its beginning, with q = (p - w) / (1 - w) and floor
/// m = min_learning_rate_ratio: cosine m + (1 - m)(1 + cos(pi q)) / 2; linear m + (1 - m)(1 - q); constant 1; and
/// inverse_sqrt max(m, sqrt(w / p)), by the end (Vaswani et al. 2017, equation 3). Times config.learning_rate.
double learning_rate(const TrainerConfig& config, const RunProgress& progress);

/// A stop-watch; it begins stopped.
class TrainingClock {
 public:
  /// `before`: seconds that earlier processes trained.
  explicit TrainingClock(double before = 0.0) : before_(before) {}

  /// All that ran so far, earlier processes included.
  double seconds() const { return before_ + (running_ ? since_start() : 0.0); }
  void start() {
    start_ = Clock::now();
    running_ = true;
  }
  void stop() {
    before_ = seconds();
    running_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double since_start() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  double before_;
  Clock::time_point start_{};
  bool running_ = false;
};

}  // namespace weft::training
