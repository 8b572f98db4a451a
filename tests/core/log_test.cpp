// SPDX-License-Identifier: Apache-2.0
// Levels filter, every message is a line of its own, and nothing reaches stdout.
#include "weft/core/log.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

#include "support/expect_error.h"
#include "weft/core/system/message_output.h"
#include "weft/core/work/clients_work.h"

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

TEST_F(Log, WarningsAboutWorkForClientsAreForDevelopers) {
  set_log_level(LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  {
    const ClientsWork work;
    log_warning("a client's text");
    log_error("a");
  }
  log_warning("b");
  set_log_level(LogLevel::kDebug);
  const ClientsWork work;
  log_warning("c");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "weft: error: a\nweft: warning: b\nweft: debug: c\n");
}

TEST_F(Log, LinesAreBounded) {
  ::testing::internal::CaptureStderr();
  log_error(std::string(1 << 20, 'x'));
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_LT(line.size(), 17000U);
  EXPECT_TRUE(line.ends_with("x...\n"));
}

TEST_F(Log, StatusLineIsRedrawnBelowAMessage) {
  ::testing::internal::CaptureStderr();
  show_status_line("42%");
  log_error("a");
  show_status_line("");
  show_status_line("");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "\r\x1b[K42%\r\x1b[Kweft: error: a\n42%\r\x1b[K");
}

// Both ends of a pipe that takes 4,096 bytes at a time, closed at the end.
class Pipe {
 public:
  Pipe() {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) {
      ::close(ends_[0]);
    }
    ends_[0] = -1;
  }
  // All that lies in it.
  std::string read() const {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 1; got > 0;) {
      got = ::read(ends_[0], piece.data(), piece.size());
      text.append(piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    }
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(MessageOutput, AReaderThatStoppedIsNotWaitedForAndLearnsHowMuchItMissed) {
  const Pipe pipe;
  MessageOutput output(pipe.writer());
  const std::string line = std::string(99, 'x') + "\n";
  for (int i = 0; i < 2000; ++i) {  // 200,000 bytes, three times what a pipe holds
    output.write(line);
  }
  const std::string before = pipe.read();
  EXPECT_LT(before.size(), 2000 * line.size());
  output.write("again\n");
  output.write("and again\n");
  const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::string missing = concat("weft: ", 2000 - lines, " lines are missing here: nobody read them in time\n");
  const std::string after = pipe.read();
  EXPECT_TRUE(after == missing + "again\nand again\n" || after == "\n" + missing + "again\nand again\n") << after;
}

TEST(MessageOutput, AReaderThatWentAwayIsNoErrorAndNoSignal) {
  Pipe pipe;
  pipe.close_reader();
  std::signal(SIGPIPE, SIG_DFL);
  MessageOutput output(pipe.writer());
  output.write("nobody reads this\n");
  output.write("nor this\n");
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  MessageOutput(999).write("a descriptor that is none\n");
}

}  // namespace
}  // namespace weft
