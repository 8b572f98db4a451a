// SPDX-License-Identifier: Apache-2.0
// Signals become a flag under a guard and are what they were afterwards.
#include "weft/core/interrupt.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

namespace weft {
namespace {

bool seen_by_earlier_handler = false;

TEST(Interrupt, SignalsSetTheFlag) {
  for (const int number : {SIGINT, SIGTERM}) {
    const InterruptGuard guard;
    EXPECT_FALSE(interrupted());
    std::raise(number);
    EXPECT_TRUE(interrupted());
  }
  EXPECT_TRUE(interrupted()) << "the flag outlives the guard, for the exit code";
}

TEST(Interrupt, NestedGuardsShareTheFlag) {
  const InterruptGuard outer;
  std::raise(SIGTERM);
  {
    const InterruptGuard inner;
    EXPECT_TRUE(interrupted());
  }
  std::raise(SIGTERM);
  EXPECT_TRUE(interrupted());
}

TEST(Interrupt, EarlierHandlersComeBack) {
  const auto before = std::signal(SIGTERM, [](int) { seen_by_earlier_handler = true; });
  {
    const InterruptGuard guard;
  }
  std::raise(SIGTERM);
  std::signal(SIGTERM, before);
  EXPECT_TRUE(seen_by_earlier_handler);
}

TEST(Interrupt, AProgramWithItsOwnHandlersIsAsked) {
  static bool is_over = false;
  {
    const SignalsHandledElsewhere own([]() noexcept { return is_over; });
    const InterruptGuard guard;
    EXPECT_FALSE(interrupted());
    is_over = true;
    EXPECT_TRUE(interrupted());
  }
  const InterruptGuard guard;
  EXPECT_FALSE(interrupted()) << "nobody is asked any more";
}

TEST(Interrupt, AProgramKeepsItsOwnHandlers) {
  seen_by_earlier_handler = false;
  const auto before = std::signal(SIGTERM, [](int) { seen_by_earlier_handler = true; });
  {
    const SignalsHandledElsewhere own;
    const InterruptGuard guard;
    std::raise(SIGTERM);
    EXPECT_TRUE(seen_by_earlier_handler);
    EXPECT_FALSE(interrupted());
  }
  {
    const InterruptGuard guard;
    std::raise(SIGTERM);
    EXPECT_TRUE(interrupted());
  }
  std::signal(SIGTERM, before);
}

TEST(InterruptDeathTest, SecondInterruptEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGTERM);
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "ended at once by another Ctrl-C");
}

TEST(InterruptDeathTest, WorkThatSavesIsEndedByTheThird) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard(SecondInterrupt::kWaits);
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::_Exit(interrupted() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "one more Ctrl-C ends at once");
  EXPECT_EXIT(
      {
        const InterruptGuard guard(SecondInterrupt::kWaits);
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "ended at once by another Ctrl-C: what was not saved yet is lost");
}

}  // namespace
}  // namespace weft
