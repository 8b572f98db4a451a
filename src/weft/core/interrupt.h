// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a flag that long work polls at a place where its state can be saved.
#pragma once

namespace weft {

/// What another Ctrl-C does while the work is stopping.
enum class SecondInterrupt {
  kEnds,   ///< it ends the process at once
  kWaits,  ///< it is answered with a line, since the work is saving; the third one ends the process
};

/// While one lives, SIGINT and SIGTERM set a flag instead of ending the process. A SIGINT that ends it all the same
/// says so on standard error, in one line. The previous handlers come back with the destructor. Guards may nest: the
/// outermost decides.
class InterruptGuard {
 public:
  explicit InterruptGuard(SecondInterrupt second = SecondInterrupt::kEnds);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// While one lives, SIGINT and SIGTERM belong to the program's own handlers: guards leave them alone, and interrupted()
/// is what `asked` answers, false without it. For a server, which finishes its requests at a signal, where a guard
/// within a request would take the signal and end that request instead; and for a program that has its own signals and
/// calls Weft as a library.
class SignalsHandledElsewhere {
 public:
  /// `asked` is called on the thread of the work, often. Errors: kArgument where a guard or another one lives.
  explicit SignalsHandledElsewhere(bool (*asked)() noexcept = nullptr);
  ~SignalsHandledElsewhere();
  SignalsHandledElsewhere(const SignalsHandledElsewhere&) = delete;
  SignalsHandledElsewhere& operator=(const SignalsHandledElsewhere&) = delete;
};

/// True once a signal arrived under a guard, or where whoever handles signals says so.
bool interrupted() noexcept;

}  // namespace weft
