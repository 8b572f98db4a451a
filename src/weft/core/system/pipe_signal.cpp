// SPDX-License-Identifier: Apache-2.0
// The signal is held back, and taken away where one came meanwhile.
#include "weft/core/system/pipe_signal.h"

#include <cerrno>
#include <ctime>

namespace weft {

PipeSignalHeld::PipeSignalHeld() {
  sigemptyset(&pipe_);
  sigaddset(&pipe_, SIGPIPE);
  sigset_t pending;
  sigpending(&pending);
  was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

PipeSignalHeld::~PipeSignalHeld() {
  const timespec at_once{};
  while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace weft
