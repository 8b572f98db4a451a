// SPDX-License-Identifier: Apache-2.0
// Long work of one thread in pieces. Between two of them whoever watches the thread may have other work done first, or
// end this one. Without a watcher nothing happens: commands and training are not watched.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

class PieceWatcher {
 public:
  virtual ~PieceWatcher() = default;
  /// Called on the thread of the work, behind a piece of `tokens` tokens (0: nobody counted). False: nobody waits for
  /// the work any more, and it ends.
  virtual bool goes_on(std::int64_t tokens) noexcept = 0;

 protected:
  PieceWatcher() = default;
  PieceWatcher(const PieceWatcher&) = default;
  PieceWatcher& operator=(const PieceWatcher&) = default;
};

/// While it lives, `watcher` watches the work of this thread in place of the one before.
class WatchedPieces {
 public:
  explicit WatchedPieces(PieceWatcher& watcher) noexcept;
  ~WatchedPieces();
  WatchedPieces(const WatchedPieces&) = delete;
  WatchedPieces& operator=(const WatchedPieces&) = delete;

 private:
  PieceWatcher* before_;
};

/// What the work of a thread has changed for others, a model that is being watched: it is put back while other work of
/// the thread is done in between.
class StateOfWork {
 public:
  StateOfWork(const StateOfWork&) = delete;
  StateOfWork& operator=(const StateOfWork&) = delete;
  virtual void put_aside() noexcept = 0;
  virtual void bring_back() noexcept = 0;

 protected:
  /// From here to the destructor the work of this thread has the state.
  StateOfWork();
  ~StateOfWork();
};

/// While it lives this thread does other work than before, and the states of that are put aside.
class OtherWork {
 public:
  OtherWork();
  ~OtherWork();
  OtherWork(const OtherWork&) = delete;
  OtherWork& operator=(const OtherWork&) = delete;

 private:
  std::vector<StateOfWork*> before_;
};

/// Whether somebody watches the work of this thread: long steps are then worth cutting.
bool work_is_watched() noexcept;

/// Behind a piece of `tokens` tokens. Errors: kInterrupted where the watcher says that nobody waits any more.
void end_piece(std::int64_t tokens = 0);

/// The same without an error; true where nobody waits. interrupted() asks it, too, and is true then (core/interrupt.h).
bool nobody_waits(std::int64_t tokens = 0) noexcept;

}  // namespace weft
