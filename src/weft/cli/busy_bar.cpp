// SPDX-License-Identifier: Apache-2.0
// A thread that redraws a bar without an end.
#include "weft/cli/busy_bar.h"

#include <chrono>
#include <utility>

namespace weft::cli {

BusyBar::BusyBar(std::string label) : bar_(std::move(label), 0) {
  if (bar_.enabled()) {
    ticking_ = std::thread([this] { tick(); });
  }
}

BusyBar::~BusyBar() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_one();
  if (ticking_.joinable()) {
    ticking_.join();
  }
}

void BusyBar::tick() {
  constexpr std::chrono::milliseconds kBetween{200};
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kBetween, [this] { return done_; })) {
    bar_.update(0);
  }
}

}  // namespace weft::cli
