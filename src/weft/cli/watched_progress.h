// SPDX-License-Identifier: Apache-2.0
// Long work whose progress is shown and that Ctrl-C ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "weft/core/interrupt.h"
#include "weft/core/progress.h"

namespace weft::cli {

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

}  // namespace weft::cli
