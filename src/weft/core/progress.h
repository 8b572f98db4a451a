// SPDX-License-Identifier: Apache-2.0
// How far long work has come, on stderr: a bar with the time that is left on a terminal, a line now and then elsewhere.
// Nothing is shown for work that is done within two seconds, or where HF_HUB_DISABLE_PROGRESS_BARS is true.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

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

/// The same without the drawing, for a log: "label 42%  note  1m12s left".
std::string progress_text(const ProgressState& state);

/// "8s", "1m12s", "3h05m", "2d04h".
std::string duration_text(double seconds);

/// Prints "weft: <message>" as one line on stderr, on a terminal or not: an event of a long run, such as an evaluation.
/// Silent where bars are, and where WEFT_LOG is error.
void report_progress(std::string_view message);

/// No bar, line or event from now on: of several processes that work together, one speaks.
void silence_progress();

/// On a terminal, a bar that appears after two seconds of work and goes with the destructor. Elsewhere, the state as a
/// line: after two seconds, and then every 30 seconds, or as often as WEFT_PROGRESS_SECONDS says (0: at every update,
/// the first too). Safe from several threads.
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
  /// The unit of `total` is seconds: while it is on, what is done grows with the clock from now on, up to the total.
  /// The next update() says what was really done.
  void follow_clock(bool on);
  /// Shows the last state again and again from a thread, for work that says nothing of itself for minutes.
  void keep_showing();
  /// Removes the bar. Idempotent.
  void finish();
  /// Whether a bar may appear: on a terminal.
  bool enabled() const noexcept { return shows_ == Shows::kBar; }

 private:
  enum class Shows { kNothing, kBar, kLines };
  static Shows how_to_show();
  void show();  // under the lock
  void tick();

  std::string label_;
  double total_;
  double start_;
  double done_;
  std::string note_;
  std::optional<Clock::time_point> follows_;  // since when done_ grows with the clock
  Shows shows_;
  Clock::duration between_;
  bool shown_ = false;
  Clock::time_point began_;
  Clock::time_point drawn_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool finished_ = false;
  std::thread ticking_;
};

}  // namespace weft
