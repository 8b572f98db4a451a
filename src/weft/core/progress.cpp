// SPDX-License-Identifier: Apache-2.0
// One line of text from a state, and when to show it.
#include "weft/core/progress.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
// Work that is done sooner never shows a bar.
constexpr milliseconds kSilence{2000};
constexpr milliseconds kBetweenDraws{100};
constexpr double kSecondsBetweenLines = 30;

// Set once, by a process that leaves speaking to another.
std::atomic<bool> silenced{false};

bool is_silent() {
  return silenced.load(std::memory_order_relaxed) || environment_is_true("HF_HUB_DISABLE_PROGRESS_BARS");
}

double seconds_between_lines() {
  const std::string word = environment("WEFT_PROGRESS_SECONDS").value_or("");
  const std::optional<double> seconds = real_of(word);
  if (word.empty() || (seconds && *seconds >= 0 && *seconds <= 1e9)) {
    return word.empty() ? kSecondsBetweenLines : *seconds;
  }
  static std::once_flag once;
  std::call_once(once, [&] {
    log_warning("WEFT_PROGRESS_SECONDS must be a number of seconds, found ", quote(word), "; ", kSecondsBetweenLines,
                " is used");
  });
  return kSecondsBetweenLines;
}

int terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

// Seconds until the work is done at the speed so far, or a negative number when nothing can be said.
double seconds_left(const ProgressState& state) {
  const double worked = state.done - state.start;
  const double remaining = std::max(0.0, state.total - state.done);
  return state.total > 0 && worked > 0 ? state.seconds / worked * remaining : -1.0;
}

template <typename... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

// Bars may lie within one another, an evaluation within a training: the innermost one has the line.
std::mutex open_bars_mutex;
std::vector<const ProgressBar*> open_bars;

void enter(const ProgressBar* bar) {
  const std::lock_guard lock(open_bars_mutex);
  open_bars.push_back(bar);
}

void leave(const ProgressBar* bar) {
  const std::lock_guard lock(open_bars_mutex);
  open_bars.erase(std::remove(open_bars.begin(), open_bars.end(), bar), open_bars.end());
}

bool is_innermost(const ProgressBar* bar) {
  const std::lock_guard lock(open_bars_mutex);
  return !open_bars.empty() && open_bars.back() == bar;
}

}  // namespace

std::string duration_text(double seconds) {
  constexpr double kLongest = 1e9;
  // The negation catches NaN and infinity, which a speed of zero gives.
  if (!(seconds < kLongest)) {
    return "long";
  }
  const auto whole = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) {
    return formatted("%llds", whole);
  }
  if (whole < 3600) {
    return formatted("%lldm%02llds", whole / 60, whole % 60);
  }
  if (whole < 86400) {
    return formatted("%lldh%02lldm", whole / 3600, whole / 60 % 60);
  }
  return formatted("%lldd%02lldh", whole / 86400, whole / 3600 % 24);
}

std::string progress_line(const ProgressState& state, int width) {
  // The bar stands between head and tail, and only where both leave room for it.
  std::string head(state.label);
  std::string tail;
  double fraction = 0;
  if (state.total > 0) {
    fraction = std::clamp(state.done / state.total, 0.0, 1.0);
    head += formatted(" %3d%% ", static_cast<int>(fraction * 100));
  } else {
    head += ' ';
  }
  tail += state.note.empty() ? "" : " " + std::string(state.note);
  const double left = seconds_left(state);
  tail += left >= 0 ? "  " + duration_text(left) + " left" : "  " + duration_text(state.seconds);
  constexpr int kShortestBar = 6;
  constexpr int kLongestBar = 30;
  // One column stays free: a line as wide as the terminal wraps, and could not be drawn over.
  const int room = width - 1 - static_cast<int>(head.size() + tail.size()) - 2;
  if (state.total > 0 && room >= kShortestBar) {
    const int cells = std::min(room, kLongestBar);
    const int filled = static_cast<int>(fraction * cells);
    head += "[" + std::string(filled, '=') + std::string(cells - filled, ' ') + "]";
  }
  return (head + tail).substr(0, std::max(0, width - 1));
}

std::string progress_text(const ProgressState& state) {
  std::string text(state.label);
  if (state.total > 0) {
    text += formatted(" %d%%", static_cast<int>(std::clamp(state.done / state.total, 0.0, 1.0) * 100));
  }
  text += state.note.empty() ? "" : "  " + std::string(state.note);
  const double left = seconds_left(state);
  return text + "  " + (left >= 0 ? duration_text(left) + " left" : duration_text(state.seconds));
}

void report_progress(std::string_view message) {
  if (!is_silent() && log_level() >= LogLevel::kWarning) {
    write_line(concat("weft: ", message, "\n"));
  }
}

void silence_progress() { silenced.store(true, std::memory_order_relaxed); }

ProgressBar::Shows ProgressBar::how_to_show() {
  if (is_silent()) {
    return Shows::kNothing;
  }
  if (::isatty(STDERR_FILENO) == 1) {
    return Shows::kBar;
  }
  return log_level() >= LogLevel::kWarning ? Shows::kLines : Shows::kNothing;
}

ProgressBar::ProgressBar(std::string label, double total, double start)
    : label_(std::move(label)),
      total_(total),
      start_(start),
      done_(start),
      shows_(how_to_show()),
      between_(kBetweenDraws),
      began_(Clock::now()),
      drawn_(began_) {
  enter(this);
  if (shows_ == Shows::kLines) {
    between_ = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_between_lines()));
  }
}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::update(double done, std::string_view note) {
  if (shows_ == Shows::kNothing) {
    return;
  }
  const std::lock_guard lock(mutex_);
  done_ = done;
  note_ = note;
  show();
}

void ProgressBar::follow_clock(bool on) {
  if (shows_ != Shows::kNothing) {
    const std::lock_guard lock(mutex_);
    follows_ = on ? std::optional(Clock::now()) : std::nullopt;
  }
}

void ProgressBar::show() {
  const Clock::time_point now = Clock::now();
  // A log is told after two seconds and then at its own rate; a rate that is faster than that holds from the start.
  const Clock::duration silence =
      std::min<Clock::duration>(kSilence, shows_ == Shows::kLines ? between_ : Clock::duration::max());
  if (finished_ || now - began_ < silence || (shown_ && now - drawn_ < between_) || !is_innermost(this)) {
    return;
  }
  drawn_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double behind = follows_ ? std::chrono::duration<double>(now - *follows_).count() : 0.0;
  const double done = follows_ ? std::max(done_, std::min(total_, done_ + behind)) : done_;
  const ProgressState state = {label_, total_, start_, done, seconds, note_};
  if (shows_ == Shows::kBar) {
    show_status_line(progress_line(state, terminal_width()));
  } else {
    write_line(concat("weft: ", progress_text(state), "\n"));
  }
}

void ProgressBar::keep_showing() {
  if (shows_ != Shows::kNothing && !ticking_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      show();
    }
    ticking_ = std::thread([this] { tick(); });
  }
}

void ProgressBar::tick() {
  constexpr milliseconds kBetweenTicks{200};
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kBetweenTicks, [this] { return finished_; })) {
    if (between_ > Clock::duration::zero()) {  // else each update has its line, and nothing else has one
      show();
    }
  }
}

void ProgressBar::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  leave(this);
  ended_.notify_one();
  if (ticking_.joinable()) {
    ticking_.join();
  }
  if (std::exchange(shown_, false) && shows_ == Shows::kBar) {
    show_status_line({});
  }
}

}  // namespace weft
