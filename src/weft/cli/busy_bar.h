// SPDX-License-Identifier: Apache-2.0
// A sign of life for work that says nothing of itself, such as a call into a library that takes minutes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "weft/core/progress.h"

namespace weft::cli {

/// Shows "label  1m12s" on stderr, as ProgressBar and under its rules, until it is destroyed.
class BusyBar {
 public:
  explicit BusyBar(std::string label);
  ~BusyBar();
  BusyBar(const BusyBar&) = delete;
  BusyBar& operator=(const BusyBar&) = delete;

 private:
  void tick();

  ProgressBar bar_;  // of the thread while that runs
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread ticking_;
};

}  // namespace weft::cli
