// SPDX-License-Identifier: Apache-2.0
// Who of several processes still lives. Each counts its heartbeats in the store that they share; one whose count stands
// still has ended, or was stopped.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft::training {

/// Watches from threads of its own: one talks to the store, the other sees when that takes too long. Five seconds after
/// its verdict it ends the process with one line and exit code 1, unless stop() came first: a process that waits for a
/// dead one cannot end by itself.
class Watchdog {
 public:
  /// `store` is a connection that nobody else uses.
  Watchdog(c10::intrusive_ptr<c10d::Store> store, std::int64_t rank, std::int64_t size);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// What is known of a process that ended, in one line; waits up to 20 seconds for it, and is empty when all live.
  std::string wait_for_verdict();
  /// The processes that have not come yet, "process 1 of 4, process 3 of 4"; empty when all have.
  std::string absent();
  /// Lets the others know why this process is about to end.
  void announce_failure(const std::string& reason);
  /// Ends the watch, and tells the others that this process is done.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    std::int64_t rank;
    std::int64_t beats = -1;
    Clock::time_point heard;
  };

  void talk();
  void watch();
  void beat();
  void look_at(Peer& peer);
  void judge(const std::string& verdict);
  bool has(const std::string& key);
  bool all_done();
  std::string text(const std::string& key);
  std::string who(std::int64_t rank);

  c10::intrusive_ptr<c10d::Store> store_;
  std::int64_t rank_;
  std::int64_t size_;
  std::vector<Peer> peers_;
  Clock::time_point reached_;  // the store's last answer; under mutex_
  std::mutex store_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string verdict_;
  bool stopping_ = false;
  bool silent_ = false;  // the thread that talks has ended
  std::thread talking_;
  std::thread watching_;
};

}  // namespace weft::training
