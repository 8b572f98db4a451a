// SPDX-License-Identifier: Apache-2.0
// Requests wait here for the one thread that computes. It takes the oldest, and with it as many others of the same
// group as fit into a batch, so that short texts of many clients cost little more than one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/server/limits.h"
#include "weft/server/message.h"
#include "weft/server/metrics.h"

namespace weft::server {

/// A client's hold on its work.
struct Ticket {
  std::atomic<bool> gone{false};  ///< the client left: the work is dropped if it has not begun
};

class WorkQueue {
 public:
  using Done = std::function<void(Reply reply)>;

  WorkQueue(const ServerConfig& config, Metrics& metrics) : config_(config), metrics_(metrics) {}

  /// Queues `work`; `done` is called on the computing thread, also for work that is dropped. Errors: HttpError 429
  /// where too much waits already.
  std::shared_ptr<Ticket> submit(Work work, Done done);
  /// Computes on the calling thread until stop().
  void run();
  /// run() returns after the batch that it computes; what waits is answered with 503.
  void stop();

 private:
  struct Item {
    Work work;
    Done done;
    std::shared_ptr<Ticket> ticket;
    std::int64_t bytes = 0;
    std::chrono::steady_clock::time_point since;
  };
  std::vector<Item> next();
  void take_alike(std::vector<Item>& batch);
  void compute(std::vector<Item>& batch);
  void publish();

  const ServerConfig& config_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::int64_t running_ = 0;
  bool stopped_ = false;
};

}  // namespace weft::server
