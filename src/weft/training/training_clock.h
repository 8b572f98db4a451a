// SPDX-License-Identifier: Apache-2.0
// Wall time spent on training steps alone, by the monotonic clock: evaluation and checkpoints are left out, and a jump
// of the system's time changes nothing.
#pragma once

#include <chrono>

namespace weft::training {

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
