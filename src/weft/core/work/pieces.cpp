// SPDX-License-Identifier: Apache-2.0
// The watcher of a thread. Threads that compute parts of a piece have none.
#include "weft/core/work/pieces.h"

#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

thread_local PieceWatcher* watcher_of_thread = nullptr;
thread_local std::vector<StateOfWork*> states_of_thread;

}  // namespace

WatchedPieces::WatchedPieces(PieceWatcher& watcher) noexcept : before_(watcher_of_thread) {
  watcher_of_thread = &watcher;
}

WatchedPieces::~WatchedPieces() { watcher_of_thread = before_; }

StateOfWork::StateOfWork() { states_of_thread.push_back(this); }
StateOfWork::~StateOfWork() { std::erase(states_of_thread, this); }

OtherWork::OtherWork() : before_(std::exchange(states_of_thread, {})) {
  for (StateOfWork* state : before_) {
    state->put_aside();
  }
}

OtherWork::~OtherWork() {
  states_of_thread = std::move(before_);
  for (StateOfWork* state : states_of_thread) {
    state->bring_back();
  }
}

bool work_is_watched() noexcept { return watcher_of_thread != nullptr; }

bool nobody_waits(std::int64_t tokens) noexcept {
  return watcher_of_thread != nullptr && !watcher_of_thread->goes_on(tokens);
}

void end_piece(std::int64_t tokens) {
  if (nobody_waits(tokens)) {
    fail(ErrorKind::kInterrupted, "nobody waits for the rest of this work");
  }
}

}  // namespace weft
