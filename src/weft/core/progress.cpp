// SPDX-License-Identifier: Apache-2.0
// The progress bar: one line of text from a state, and when to draw it.
#include "weft/core/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "weft/core/environment.h"
#include "weft/core/log.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
// Work that is done sooner never shows a bar.
constexpr milliseconds kSilence{2000};
constexpr milliseconds kBetweenDraws{100};

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

ProgressBar::ProgressBar(std::string label, double total, double start)
    : label_(std::move(label)),
      total_(total),
      start_(start),
      enabled_(::isatty(STDERR_FILENO) == 1 && !environment_is_true("HF_HUB_DISABLE_PROGRESS_BARS")),
      began_(Clock::now()),
      drawn_(began_) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::update(double done, std::string_view note) {
  if (!enabled_) {
    return;
  }
  const Clock::time_point now = Clock::now();
  if (now - began_ < kSilence || now - drawn_ < kBetweenDraws) {
    return;
  }
  drawn_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  show_status_line(progress_line({label_, total_, start_, done, seconds, note}, terminal_width()));
}

void ProgressBar::finish() {
  if (std::exchange(shown_, false)) {
    show_status_line({});
  }
}

}  // namespace weft
