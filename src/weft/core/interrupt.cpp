// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a flag, for as long as a guard lives.
#include "weft/core/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace weft {
namespace {

// A signal handler may touch lock-free atomics and little else.
std::atomic<bool> arrived{false};
std::atomic<int> interrupts{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// Guards may nest: the outermost one installs the handlers and puts the previous ones back.
std::mutex guards_mutex;
int guards = 0;
struct sigaction previous_interrupt;
struct sigaction previous_terminate;

void on_signal(int number) {
  arrived.store(true);
  if (number == SIGINT && interrupts.fetch_add(1) > 0) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);  // blocked until this handler returns, then it ends the process
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (guards++ > 0) {
    return;
  }
  arrived.store(false);
  interrupts.store(0);
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

bool interrupted() noexcept { return arrived.load(); }

}  // namespace weft
