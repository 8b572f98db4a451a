// SPDX-License-Identifier: Apache-2.0
// A progress bar on stderr with the time that is left. Silent when stderr is no terminal or
// HF_HUB_DISABLE_PROGRESS_BARS is true, and for work that is done within two seconds.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace weft {

/// What a bar shows: the work in any unit (steps, bytes, seconds) and the clock.
struct ProgressState {
  std::string_view label;
  double total = 0;  ///< 0 or less: unknown, and no time left is shown
  double start = 0;  ///< done before the clock started, by an earlier session
  double done = 0;
  double seconds = 0;  ///< since the clock started
  std::string_view note;
};

/// One line of at most `width` columns: "label  42% [=====>      ] note  1m12s left".
std::string progress_line(const ProgressState& state, int width);

/// "8s", "1m12s", "3h05m", "2d04h".
std::string duration_text(double seconds);

/// A bar that appears after two seconds of work, is redrawn by update() and goes with its destructor.
class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  /// `total` and `start` in any unit; `start` is work done in an earlier session, which tells nothing about this one's
  /// speed.
  ProgressBar(std::string label, double total, double start = 0);
  ~ProgressBar();  ///< removes the bar from the terminal
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Cheap: draws at most ten times a second. `note` is free text such as "loss 2.31  12.3k tok/s".
  void update(double done, std::string_view note = {});
  /// Removes the bar. Idempotent.
  void finish();
  /// Whether a bar may appear at all.
  bool enabled() const noexcept { return enabled_; }

 private:
  std::string label_;
  double total_;
  double start_;
  bool enabled_;
  bool shown_ = false;
  Clock::time_point began_;
  Clock::time_point drawn_;
};

}  // namespace weft
