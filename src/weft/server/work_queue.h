// SPDX-License-Identifier: Apache-2.0
// Requests wait here for the one thread that computes. It takes the oldest of the size whose turn it is (fair_order.h),
// and with it as many others of the same group as fit into a batch, so that short texts of many clients cost little
// more than one.
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

#include "weft/server/fair_order.h"
#include "weft/server/limits.h"
#include "weft/server/message.h"
#include "weft/server/metrics.h"

namespace weft::server {

/// A client's hold on its work.
struct Ticket {
  /// The client left: work that has not begun is dropped, and work that goes piece by piece ends.
  std::atomic<bool> gone{false};
};

class WorkQueue {
 public:
  using Done = std::function<void(Reply reply)>;
  /// Hands on a piece of an answer; false: the client takes no more.
  using Piece = std::function<bool(const formats::Json& piece)>;

  WorkQueue(const ServerConfig& config, Metrics& metrics, Lane lane = Lane::kModels)
      : config_(config), metrics_(metrics), lane_(lane), order_(config.max_batch_bytes) {}

  /// Queues `work`; `done` is called on the computing thread, also for work that is dropped, and before it `piece`, if
  /// there is one, for each piece. Errors: HttpError 429 where too much waits already.
  std::shared_ptr<Ticket> submit(Work work, Done done, Piece piece = {});
  /// Computes on the calling thread until stop().
  void run();
  /// run() returns after the batch that it computes; what waits is answered with 503.
  void stop();

 private:
  struct Item {
    Work work;
    Done done;
    Piece piece;
    std::shared_ptr<Ticket> ticket;
    std::int64_t bytes = 0;
    std::chrono::steady_clock::time_point since;
  };
  std::vector<Item> next();
  std::vector<Item> take_refused();
  void take_turn(std::vector<Item>& batch);
  void take_alike(std::vector<Item>& batch);
  void compute(std::vector<Item>& batch);
  static std::vector<Reply> replies_of(const std::vector<Item>& batch);
  void publish();

  const ServerConfig& config_;
  Metrics& metrics_;
  const Lane lane_;
  FairOrder order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::int64_t running_ = 0;
  bool stopped_ = false;
};

}  // namespace weft::server
