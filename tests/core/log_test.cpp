// SPDX-License-Identifier: Apache-2.0
// Levels filter, every message is a line of its own, and nothing reaches stdout.
#include "weft/core/log.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft {
namespace {

class Log : public ::testing::Test {
 protected:
  ~Log() override { set_log_level(before_); }
  LogLevel before_ = log_level();
};

TEST_F(Log, LevelsFilter) {
  set_log_level(LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  log_error("a ", 1);
  log_warning("b");
  log_info("c");
  log_debug("d");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "weft: error: a 1\nweft: warning: b\nweft: info: c\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST_F(Log, ErrorsAlwaysShow) {
  set_log_level(LogLevel::kError);
  ::testing::internal::CaptureStderr();
  log_warning("b");
  write_log(LogLevel::kWarning, "b");
  log_error("a");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "weft: error: a\n");
}

TEST_F(Log, StatusLineIsRedrawnBelowAMessage) {
  ::testing::internal::CaptureStderr();
  show_status_line("42%");
  log_error("a");
  show_status_line("");
  show_status_line("");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "\r\x1b[K42%\r\x1b[Kweft: error: a\n42%\r\x1b[K");
}

TEST_F(Log, LevelsParse) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::kDebug);
  test::expect_error(ErrorKind::kArgument, {"error, warning, info or debug", "'loud'"},
                     [] { parse_log_level("loud"); });
}

}  // namespace
}  // namespace weft
