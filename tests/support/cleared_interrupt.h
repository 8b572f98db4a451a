// SPDX-License-Identifier: Apache-2.0
// A test that raises a signal leaves interrupted() set for the tests behind it in the same process; this one does not.
#pragma once

#include "weft/core/interrupt.h"

namespace weft::test {

/// Declared before a test's own guard, so that it is destroyed behind it: a fresh guard begins without a signal.
class ClearedInterrupt {
 public:
  ClearedInterrupt() = default;
  ~ClearedInterrupt() { const InterruptGuard fresh; }
  ClearedInterrupt(const ClearedInterrupt&) = delete;
  ClearedInterrupt& operator=(const ClearedInterrupt&) = delete;
};

}  // namespace weft::test
