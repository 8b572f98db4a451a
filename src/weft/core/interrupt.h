// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a flag that long work polls at a place where its state can be saved.
#pragma once

namespace weft {

/// While one lives, SIGINT and SIGTERM set a flag instead of ending the process; a second SIGINT ends it at once.
/// The previous handlers come back with the destructor.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// True once a signal arrived under a guard.
bool interrupted() noexcept;

}  // namespace weft
