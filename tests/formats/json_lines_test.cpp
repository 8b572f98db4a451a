// SPDX-License-Identifier: Apache-2.0
// Logs that survive kill -9, full disks and a return to a checkpoint.
#include "weft/formats/json_lines.h"

#include <csignal>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft::formats {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

TEST(JsonLines, AppendsAcrossSessions) {
  const TemporaryDirectory directory;
  JsonLinesWriter(directory / "log").append({{"step", 1}});
  JsonLinesWriter(directory / "log").append({{"step", 2}, {"text", "a\nb"}});
  EXPECT_EQ(read_file(directory / "log"), "{\"step\":1}\n{\"step\":2,\"text\":\"a\\nb\"}\n");
  EXPECT_EQ(read_json_lines(directory / "log").size(), 2U);
}

TEST(JsonLines, ATornLineIsCut) {
  const TemporaryDirectory directory;
  for (const std::string_view torn : {"{\"step\":2", "{", "{\"step\":2}"}) {
    std::ofstream(directory / "log") << "{\"step\":1}\n" << torn;
    EXPECT_EQ(read_json_lines(directory / "log").size(), 1U);
    JsonLinesWriter writer(directory / "log");
    writer.append({{"step", 3}});
    EXPECT_EQ(read_file(directory / "log"), "{\"step\":1}\n{\"step\":3}\n");
  }
  std::ofstream(directory / "log") << "{\"ste";
  const JsonLinesWriter writer(directory / "log");
  EXPECT_EQ(read_file(directory / "log"), "");
}

TEST(JsonLines, TakesStepsBack) {
  const TemporaryDirectory directory;
  JsonLinesWriter writer(directory / "log");
  writer.append({{"event", "start"}});
  for (const int step : {1, 2, 2, 3, 4}) {
    writer.append({{"step", step}});
  }
  writer.append({{"event", "stop"}});
  EXPECT_EQ(writer.truncate_after_step(2), 3);
  EXPECT_EQ(read_json_lines(directory / "log").back(), Json({{"step", 2}}));
  writer.append({{"step", 3}});
  EXPECT_EQ(read_json_lines(directory / "log").size(), 5U);
  EXPECT_EQ(writer.truncate_after_step(99), 0);
  EXPECT_EQ(writer.truncate_after_step(0), 5);
  EXPECT_EQ(read_file(directory / "log"), "");
}

TEST(JsonLines, BrokenLinesAreNamed) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "log") << "{\"step\":1}\nnonsense\n";
  expect_error(ErrorKind::kFormat, {"log' line 2"}, [&] { read_json_lines(directory / "log"); });
  JsonLinesWriter writer(directory / "log");
  expect_error(ErrorKind::kFormat, {"log' at byte 11"}, [&] { writer.truncate_after_step(1); });
  std::ofstream(directory / "log") << "[1]\n";
  expect_error(ErrorKind::kFormat, {"line 1", "JSON object"}, [&] { read_json_lines(directory / "log"); });
}

TEST(JsonLines, BrokenLinesAreSkippedWhereThatIsAskedFor) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "log") << "{\"step\":1}\nnonsense\n[1]\n{\"step\":2}\njunk\n{\"step\":3}\njunk\n";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(read_json_lines(directory / "log", BrokenLines::kSkip).size(), 3U);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("log' line 2"), std::string::npos) << said;
  EXPECT_NE(said.find("3 more are left out"), std::string::npos) << said;
  JsonLinesWriter writer(directory / "log");
  EXPECT_EQ(writer.truncate_after_step(2, BrokenLines::kSkip), 3);
  EXPECT_EQ(read_file(directory / "log"), "{\"step\":1}\nnonsense\n[1]\n{\"step\":2}\n");
}

TEST(JsonLines, AFullDiskLeavesWholeLines) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    JsonLinesWriter writer(directory / "log");
    writer.append({{"step", 1}});
    expect_error(ErrorKind::kIo, {"log", "File too large"}, [&] { writer.append({{"text", std::string(200, 'x')}}); });
    writer.append({{"step", 2}});
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(directory / "log"), "{\"step\":1}\n{\"step\":2}\n");
}

TEST(JsonLines, KilledWritersLeaveWholeLines) {
  const TemporaryDirectory directory;
  JsonLinesWriter(directory / "log").append({{"step", -1}, {"loss", 3.0}});
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      JsonLinesWriter writer(directory / "log");
      for (int step = 0;; ++step) {
        writer.append({{"step", step}, {"loss", 2.5}});
      }
    }
    ::usleep(2000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const Json& line : read_json_lines(directory / "log")) {
      ASSERT_EQ(line.size(), 2U);
    }
  }
}

TEST(JsonLines, AnUnwritablePathIsNamed) {
  const TemporaryDirectory directory;
  expect_error(ErrorKind::kIo, {"none/log", "No such file"}, [&] { JsonLinesWriter(directory / "none/log"); });
}

}  // namespace
}  // namespace weft::formats
