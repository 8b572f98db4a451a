// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a flag, for as long as a guard lives.
#include "weft/core/interrupt.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <string_view>

#include <poll.h>
#include <unistd.h>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"

namespace weft {
namespace {

// A signal handler may touch lock-free atomics and little else.
std::atomic<bool> arrived{false};
std::atomic<int> interrupts{0};
std::atomic<int> last_interrupt{2};  // the one that ends the process, counted from 1
std::atomic<bool (*)() noexcept> asked_elsewhere{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// Guards may nest: the outermost one installs the handlers and puts the previous ones back.
std::mutex guards_mutex;
int guards = 0;
struct sigaction previous_interrupt;
struct sigaction previous_terminate;

// The line begins anew: a bar or the terminal's "^C" may stand before it. Where nobody can read it, nothing is to do.
void say(std::string_view line) {
  pollfd output{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&output, 1, 0) > 0) {  // a handler must not wait for a reader either
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  }
}

void on_signal(int number) {
  const int error = errno;
  arrived.store(true);
  if (number == SIGINT) {
    const int count = interrupts.fetch_add(1) + 1;
    if (count >= last_interrupt.load()) {
      say("\nweft: ended at once by another Ctrl-C: what was not saved yet is lost\n");
      std::signal(SIGINT, SIG_DFL);
      std::raise(SIGINT);  // blocked until this handler returns, then it ends the process
    } else if (count > 1) {
      say("\nweft: stopping: the state is being saved; one more Ctrl-C ends at once and loses it\n");
    }
  }
  errno = error;
}

}  // namespace

InterruptGuard::InterruptGuard(SecondInterrupt second) {
  const std::lock_guard lock(guards_mutex);
  if (guards++ > 0) {
    return;
  }
  arrived.store(false);
  interrupts.store(0);
  last_interrupt.store(second == SecondInterrupt::kEnds ? 2 : 3);
  struct sigaction action{};
  action.sa_handler = on_signal;
  // Reads and writes that a signal interrupts go on; the work looks at the flag where its state can be saved.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &previous_interrupt);
  ::sigaction(SIGTERM, &action, &previous_terminate);
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (--guards > 0) {
    return;
  }
  ::sigaction(SIGINT, &previous_interrupt, nullptr);
  ::sigaction(SIGTERM, &previous_terminate, nullptr);
}

// Counts as a guard that installed no handlers: those within it install none either.
SignalsHandledElsewhere::SignalsHandledElsewhere(bool (*asked)() noexcept) {
  const std::lock_guard lock(guards_mutex);
  require(guards == 0, "a guard waits for SIGINT and SIGTERM already");
  ++guards;
  arrived.store(false);
  asked_elsewhere.store(asked);
}

SignalsHandledElsewhere::~SignalsHandledElsewhere() {
  const std::lock_guard lock(guards_mutex);
  asked_elsewhere.store(nullptr);
  --guards;
}

bool interrupted() noexcept {
  bool (*const asked)() noexcept = asked_elsewhere.load();
  return arrived.load() || nobody_waits() || (asked != nullptr && asked());
}

}  // namespace weft
