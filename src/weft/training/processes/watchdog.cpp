// SPDX-License-Identifier: Apache-2.0
// Heartbeats, and what follows from their end. Times: a beat a second, 15 seconds of silence are an end, 5 more until
// this process is ended too: 30 are promised.
#include "weft/training/processes/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/one_line.h"
#include "weft/training/processes/handshake.h"

namespace weft::training {
namespace {

constexpr std::chrono::seconds kBeat{1};
constexpr std::chrono::seconds kSilence{15};
constexpr std::chrono::seconds kLastWords{5};
constexpr std::chrono::seconds kVerdictWait{20};

std::string keyed(const char* kind, std::int64_t rank) { return concat(kind, "/", rank); }

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return concat("pid ", ::getpid(), " on ", host.data());
}

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

Watchdog::Watchdog(c10::intrusive_ptr<c10d::Store> store, std::int64_t rank, std::int64_t size)
    : store_(std::move(store)), rank_(rank), size_(size), reached_(Clock::now()) {
  for (std::int64_t other = 0; other < size_; ++other) {
    if (other != rank_) {
      peers_.push_back({other, -1, Clock::now()});
    }
  }
  talking_ = std::thread([this] { talk(); });
  watching_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() { stop(); }

bool Watchdog::has(const std::string& key) { return store_->check({key}); }

std::string Watchdog::text(const std::string& key) {
  const std::vector<std::uint8_t> bytes = store_->get(key);
  return one_line({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string Watchdog::who(std::int64_t rank) {
  const std::string name = concat("process ", rank, " of ", size_);
  return has(keyed("who", rank)) ? concat(name, " (", text(keyed("who", rank)), ")") : name;
}

void Watchdog::judge(const std::string& verdict) {
  const std::lock_guard lock(mutex_);
  if (verdict_.empty()) {
    verdict_ = verdict;
    changed_.notify_all();
  }
}

void Watchdog::look_at(Peer& peer) {
  const auto now = Clock::now();
  const std::int64_t beats = store_->add(keyed("beat", peer.rank), 0);
  // A process that has not come yet is waited for when the group is made, not here.
  if (beats != peer.beats || beats == 0 || has(keyed("done", peer.rank))) {
    peer.beats = beats;
    peer.heard = now;
  }
  if (has(failure_key(peer.rank))) {
    judge(concat(who(peer.rank), " failed: ", text(failure_key(peer.rank))));
  } else if (now - peer.heard > kSilence) {
    judge(concat(who(peer.rank), " has ended: nothing was heard of it for ", kSilence.count(), " seconds"));
  }
}

void Watchdog::beat() {
  const std::lock_guard lock(store_mutex_);
  try {
    if (store_->add(keyed("beat", rank_), 1) == 1) {
      store_->set(keyed("who", rank_), bytes_of(this_process()));
    }
    for (Peer& peer : peers_) {
      look_at(peer);
    }
    const std::lock_guard reached(mutex_);
    reached_ = Clock::now();
  } catch (const std::exception&) {
    return;  // watch() sees how long this goes on
  }
}

void Watchdog::talk() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && verdict_.empty()) {
    lock.unlock();
    beat();
    lock.lock();
    changed_.wait_for(lock, kBeat, [this] { return stopping_; });
  }
  silent_ = true;
  changed_.notify_all();
}

// A call to the store of a process that was stopped does not return: this thread makes none.
void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!silent_ && verdict_.empty()) {
    changed_.wait_for(lock, kBeat);
    if (Clock::now() - reached_ > kSilence) {
      verdict_ = concat("process 0 of ", size_,
                        ", or the launcher that speaks for it, has ended: nothing was heard of it for ",
                        kSilence.count(), " seconds");
      changed_.notify_all();
    }
  }
  if (!changed_.wait_for(lock, kLastWords, [this] { return stopping_ && silent_; })) {
    log_error(verdict_);
    ::_exit(1);
  }
}

std::string Watchdog::wait_for_verdict() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kVerdictWait, [this] { return !verdict_.empty() || stopping_; });
  return verdict_;
}

std::string Watchdog::absent() {
  const std::lock_guard lock(store_mutex_);
  std::vector<std::string> names;
  for (const Peer& peer : peers_) {
    if (peer.beats <= 0) {
      names.push_back(concat("process ", peer.rank, " of ", size_));
    }
  }
  return joined(names, ", ");
}

bool Watchdog::all_done() {
  return std::all_of(peers_.begin(), peers_.end(), [this](const Peer& peer) { return has(keyed("done", peer.rank)); });
}

void Watchdog::announce_failure(const std::string& reason) {
  const std::lock_guard lock(store_mutex_);
  try {
    store_->set(failure_key(rank_), bytes_of(reason));
    // The first process keeps the store itself: the others need a moment to read there.
    std::this_thread::sleep_for(rank_ == 0 ? 3 * kBeat : 0 * kBeat);
  } catch (const std::exception&) {
    return;  // nobody is left to tell
  }
}

void Watchdog::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      return;
    }
    stopping_ = true;
    changed_.notify_all();
  }
  talking_.join();
  watching_.join();
  try {
    store_->set(keyed("done", rank_), bytes_of("1"));
    // The store ends with the first process: the others go before it, where they still can.
    const auto patience = Clock::now() + 2 * kBeat;
    while (rank_ == 0 && verdict_.empty() && !all_done() && Clock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const std::exception&) {
    return;  // the store went first
  }
}

}  // namespace weft::training
