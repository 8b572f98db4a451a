// SPDX-License-Identifier: Apache-2.0
// Writes to readers that may be gone, without the signal that would end the process.
#pragma once

#include <csignal>

namespace weft {

/// While one lives, this thread gets no SIGPIPE: its writes to a pipe or connection that nobody reads fail with EPIPE.
class PipeSignalHeld {
 public:
  PipeSignalHeld();
  ~PipeSignalHeld();
  PipeSignalHeld(const PipeSignalHeld&) = delete;
  PipeSignalHeld& operator=(const PipeSignalHeld&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace weft
