// SPDX-License-Identifier: Apache-2.0
// Event files byte by byte; event_file_test.py has TensorBoard itself read those that the last tests here write to
// WEFT_TEST_OUT.
#include "weft/formats/event_file.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
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

using test::TemporaryDirectory;

// The events of a file, each frame checked; a torn last record is left out.
std::vector<std::string> records(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  std::vector<std::string> found;
  std::size_t position = 0;
  while (content.size() - position >= 12) {
    std::uint64_t length = 0;
    std::uint32_t check = 0;
    std::memcpy(&length, content.data() + position, 8);
    std::memcpy(&check, content.data() + position + 8, 4);
    EXPECT_EQ(check, masked_crc32c(std::string_view(content).substr(position, 8)));
    if (content.size() - position < 16 + length) {
      break;
    }
    const std::string data = content.substr(position + 12, length);
    std::memcpy(&check, content.data() + position + 12 + length, 4);
    EXPECT_EQ(check, masked_crc32c(data));
    found.push_back(data);
    position += 16 + length;
  }
  return found;
}

TEST(EventFile, Crc32cKnownAnswers) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(EventFile, RecordsAreFramed) {
  const TemporaryDirectory directory;
  EventWriter writer(directory.path());
  writer.scalar("loss", 2.0, 300, 1.0);
  writer.flush();
  const std::vector<std::string> found = records(writer.path());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(found[0].find("brain.Event:2"), std::string::npos);
  // wall_time 1.0 | step 300 | summary { value { tag "loss" simple_value 2.0 } }
  const std::string expected("\x09\0\0\0\0\0\0\xf0\x3f\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\0\x40", 27);
  EXPECT_EQ(found[1], expected);
}

TEST(EventFile, NamesSortInTheOrderOfTheirMaking) {
  const TemporaryDirectory directory;
  // As if the clock had gone back since.
  std::ofstream(directory / "events.out.tfevents.9000000000.host.weft") << "";
  const EventWriter first(directory.path());
  const EventWriter second(directory.path(), 10);
  EXPECT_LT(directory.path() / "events.out.tfevents.9000000000.host.weft", first.path());
  EXPECT_LT(first.path(), second.path());
  EXPECT_TRUE(second.path().native().ends_with(".weft"));
  EXPECT_EQ(records(first.path()).size(), 1U);
  EXPECT_EQ(records(second.path()).size(), 2U);
}

TEST(EventFile, BuffersUntilFlushed) {
  const TemporaryDirectory directory;
  EventWriter writer(directory.path());
  for (int step = 0; step < 5000; ++step) {
    writer.scalar("loss", step, step, 0);
  }
  EXPECT_GT(records(writer.path()).size(), 1000U) << "a full buffer writes itself";
  writer.flush();
  EXPECT_EQ(records(writer.path()).size(), 5001U);
}

TEST(EventFile, AFullDiskLeavesWholeRecords) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{120, 120};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    EventWriter writer(directory.path());
    writer.scalar("loss", 1, 1, 1);
    writer.flush();
    writer.scalar("loss", 1, 2, 1);
    test::expect_error(ErrorKind::kIo, {"tfevents", "File too large"}, [&] { writer.flush(); });
    EXPECT_EQ(records(writer.path()).size(), 2U);
    EXPECT_EQ(read_file(writer.path()).size(), 2U * 42U) << "nothing of the third record";
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(EventFile, AnUnwritableFolderIsNamed) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "";
  test::expect_error(ErrorKind::kIo, {"file"}, [&] { EventWriter(directory / "file"); });
}

// Writes what event_file_test.py expects, when it asks for it.
TEST(EventFile, ForTensorBoard) {
  const char* out = std::getenv("WEFT_TEST_OUT");
  if (out == nullptr) {
    GTEST_SKIP() << "only for event_file_test.py";
  }
  {
    EventWriter writer(out);
    for (int step = 1; step <= 10; ++step) {
      writer.scalar("train/loss", 10.0 / step, step, 1.7e9 + step);
      writer.scalar("größe", -step, step, 1.7e9 + step);
    }
  }
  EventWriter resumed(out, 6);
  for (int step = 6; step <= 8; ++step) {
    resumed.scalar("train/loss", 100.0 + step, step, 1.7e9 + 100 + step);
  }
  resumed.flush();
  resumed.scalar("train/loss", 0, 9, 1.7e9 + 109);
  resumed.flush();
  std::filesystem::resize_file(resumed.path(), std::filesystem::file_size(resumed.path()) - 5);
}

}  // namespace
}  // namespace weft::formats
