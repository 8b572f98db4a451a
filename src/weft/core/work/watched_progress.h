// SPDX-License-Identifier: Apache-2.0
// Long work whose progress is shown: by its own count, until Ctrl-C ends it, or as a sign of life where it has none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "weft/core/interrupt.h"
#include "weft/core/progress.h"

namespace weft {

/// While one lives, SIGINT and SIGTERM are waited for.
class WatchedProgress {
 public:
  /// `unit` in the plural, for the message.
  WatchedProgress(const std::string& label, std::string unit) : bar_(label, 1.0), unit_(std::move(unit)) {
    bar_.keep_showing();  // what comes before the first call, such as opening a model, may be long
  }

  /// To be called with what is done and the whole; refers to this. Throws kInterrupted, saying how far it came.
  std::function<void(std::int64_t done, std::int64_t total)> callback();
  /// Removes the bar.
  void finish() { bar_.finish(); }

 private:
  InterruptGuard guard_;
  ProgressBar bar_;
  std::string unit_;
};

/// Shows "label  1m12s" on stderr, as ProgressBar and under its rules, until it is destroyed.
class BusyBar {
 public:
  explicit BusyBar(std::string label) : bar_(std::move(label), 0) { bar_.keep_showing(); }

 private:
  ProgressBar bar_;
};

}  // namespace weft
