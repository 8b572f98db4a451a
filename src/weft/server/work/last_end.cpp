// SPDX-License-Identifier: Apache-2.0
// A thread that waits for the others. There is nothing to save: all connections are closed.
#include "weft/server/work/last_end.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "weft/core/log.h"

namespace weft::server {
namespace {

constexpr std::chrono::milliseconds kLastPiece{1000};

}  // namespace

LastEnd::~LastEnd() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void LastEnd::begin(std::function<void()> before) {
  if (thread_.joinable()) {
    return;
  }
  thread_ = std::thread([this, before = std::move(before)] {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kLastPiece, [this] { return ended_; })) {
      before();
      log_warning("the server ends in the middle of a piece of work that nobody waits for");
      std::_Exit(EXIT_SUCCESS);
    }
  });
}

}  // namespace weft::server
