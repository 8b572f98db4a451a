// SPDX-License-Identifier: Apache-2.0
// Requests wait here for the one thread that computes. It takes the oldest of the size whose turn it is (fair_order.h),
// and with it as many others of the same group as fit into a batch, so that short texts of many clients cost little
// more than one. Long work goes in pieces (core/work/pieces.h): between two of them it looks whether anybody still
// waits, and lends its thread to shorter work.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "weft/server/limits.h"
#include "weft/server/message.h"
#include "weft/server/metrics.h"
#include "weft/server/work/fair_order.h"

namespace weft::server {

/// The bytes of all requests of a queue that are not answered yet.
using WaitingBytes = std::atomic<std::int64_t>;

/// A client's hold on its work.
class Ticket {
 public:
  /// Takes `bytes` from `all` for as long as it lives.
  Ticket(std::shared_ptr<WaitingBytes> all, std::int64_t bytes, Cost cost);
  ~Ticket() { *all_ -= bytes_; }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  /// What was admitted.
  const Cost& cost() const noexcept { return cost_; }
  /// The client left, its time is over, or the server ends: work that has not begun is dropped, and what is being
  /// computed ends at its next look.
  std::atomic<bool> gone{false};

 private:
  std::shared_ptr<WaitingBytes> all_;
  std::int64_t bytes_;
  Cost cost_;
};

class WorkQueue {
 public:
  using Done = std::function<void(Reply reply)>;
  /// Hands on a piece of an answer; false: the client takes no more.
  using Piece = std::function<bool(const formats::Json& piece)>;

  WorkQueue(const ServerConfig& config, Metrics& metrics, Lane lane = Lane::kModels)
      : config_(config), metrics_(metrics), lane_(lane), order_(config.max_batch_bytes) {}

  /// Queues `work`; `done` is called on the computing thread, also for work that is dropped, and before it `piece`, if
  /// there is one, for each piece. While the ticket lives its texts and its answer count as waiting. Errors: HttpError
  /// 413 naming the limit that the work exceeds, 429 where too much waits already.
  std::shared_ptr<Ticket> submit(Work work, Done done, Piece piece = {});
  /// Computes on the calling thread until stop().
  void run();
  /// What is computed ends at its next look, and run() returns; what waits is answered with 503.
  void stop();

 private:
  struct Item {
    Work work;
    Done done;
    Piece piece;
    std::shared_ptr<Ticket> ticket;
    std::int64_t cost = 0;
    std::chrono::steady_clock::time_point since;
  };
  using Items = std::vector<Item>;
  class Watcher;

  void check(const Work& work, const Cost& cost) const;
  void next(Items& batch);
  void next_below(std::size_t size, Items& batch);
  void take(Items& batch, std::size_t below);
  Items take_refused();
  void refuse(Items& refused);
  void take_turn(Items& batch, std::size_t below);
  void take_alike(Items& batch);
  void compute(Items& batch);
  std::vector<Reply> replies_of(std::span<const Item> batch, std::size_t size);
  void publish();

  const ServerConfig& config_;
  Metrics& metrics_;
  const Lane lane_;
  FairOrder order_;
  const std::shared_ptr<WaitingBytes> waiting_bytes_ = std::make_shared<WaitingBytes>(0);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::vector<const Items*> running_;  // the innermost last: it was lent the thread by those before it
  bool stopped_ = false;
};

}  // namespace weft::server
