// SPDX-License-Identifier: Apache-2.0
// A sign of life on a terminal, and none elsewhere.
#include "weft/core/work/watched_progress.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "support/terminal.h"

namespace weft {
namespace {

TEST(BusyBar, DrawsByItself) {
  const test::Terminal terminal;
  if (!terminal.ready()) {
    GTEST_SKIP() << "no pseudo-terminal here";
  }
  {
    const BusyBar bar("learning");
    // Bars are silent for two seconds.
    std::this_thread::sleep_for(std::chrono::milliseconds(2700));
    EXPECT_NE(terminal.read().find("learning   2s"), std::string::npos);
  }
  EXPECT_EQ(terminal.read(), "\r\x1b[K");
}

TEST(BusyBar, IsSilentWithoutATerminal) {
  ::testing::internal::CaptureStderr();
  {
    const BusyBar bar("learning");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace weft
