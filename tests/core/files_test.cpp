// SPDX-License-Identifier: Apache-2.0
// Reading, mapping and atomic writing where all goes well, and where the path is not what it should be.
#include "weft/core/files.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace weft {
namespace {

using std::filesystem::exists;
using test::expect_error;
using test::TemporaryDirectory;

void put(const std::filesystem::path& path, std::string_view text) { std::ofstream(path) << text; }

TEST(Files, ReadsWhatWasWritten) {
  const TemporaryDirectory directory;
  const std::string content("a\0b\xff\n", 5);
  write_file_atomically(directory / "x", content);
  EXPECT_EQ(read_file(directory / "x"), content);
  EXPECT_EQ(directory.entries(), 1U);
  write_file_atomically(directory / "x", "");
  EXPECT_EQ(read_file(directory / "x"), "");
}

TEST(Files, ReadsFilesThatTellNoSize) { EXPECT_FALSE(read_file("/proc/self/status").empty()); }

TEST(Files, ReadRefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  expect_error(ErrorKind::kIo, {"missing", "No such file"}, [&] { read_file(directory / "missing"); });
  expect_error(ErrorKind::kIo, {"it is a directory"}, [&] { read_file(directory.path()); });
  expect_error(ErrorKind::kIo, {"/dev/zero", "not a regular file"}, [] { read_file("/dev/zero"); });
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  expect_error(ErrorKind::kIo, {"a pipe, not a regular file"}, [&] { read_file(directory / "fifo"); });
  expect_error(ErrorKind::kIo, {"not a regular file"}, [&] { MappedFile(directory / "fifo"); });
}

TEST(Files, ReadKeepsToItsLimit) {
  const TemporaryDirectory directory;
  put(directory / "x", "12345");
  EXPECT_EQ(read_file(directory / "x", 5), "12345");
  expect_error(ErrorKind::kIo, {"more than 4 bytes"}, [&] { read_file(directory / "x", 4); });
}

TEST(AtomicFile, AppearsOnlyByCommit) {
  const TemporaryDirectory directory;
  put(directory / "x", "old");
  {
    AtomicFile file(directory / "x");
    file.write("new");
    EXPECT_EQ(read_file(directory / "x"), "old");
    EXPECT_EQ(directory.entries(), 2U);
  }
  EXPECT_EQ(read_file(directory / "x"), "old");
  EXPECT_EQ(directory.entries(), 1U);
  AtomicFile file(directory / "x");
  file.write("new");
  file.write(" text");
  file.commit();
  EXPECT_EQ(read_file(directory / "x"), "new text");
  EXPECT_EQ(directory.entries(), 1U);
}

TEST(AtomicFile, KeepsThePermissionsOfTheOldFile) {
  const TemporaryDirectory directory;
  put(directory / "x", "old");
  ASSERT_EQ(::chmod((directory / "x").c_str(), 0640), 0);
  write_file_atomically(directory / "x", "new");
  struct stat status{};
  ASSERT_EQ(::stat((directory / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(AtomicFile, WritesThroughSymbolicLinks) {
  const TemporaryDirectory directory;
  put(directory / "target", "old");
  std::filesystem::create_symlink("target", directory / "link");
  write_file_atomically(directory / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(read_file(directory / "target"), "new");
}

TEST(AtomicFile, RefusesDevicesDirectoriesAndMissingFolders) {
  const TemporaryDirectory directory;
  expect_error(ErrorKind::kIo, {"/dev/null", "not a regular file"}, [] { write_file_atomically("/dev/null", "x"); });
  expect_error(ErrorKind::kIo, {"it is a directory"}, [&] { write_file_atomically(directory.path(), "x"); });
  expect_error(ErrorKind::kIo, {"none/x", "No such file"}, [&] { write_file_atomically(directory / "none/x", "x"); });
  struct stat status{};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(AtomicFile, TakesLongNames) {
  const TemporaryDirectory directory;
  const std::string name(255, 'n');
  write_file_atomically(directory / name, "x");
  EXPECT_EQ(read_file(directory / name), "x");
}

TEST(WriteDirectory, MakesAndReplaces) {
  const TemporaryDirectory directory;
  write_directory_atomically(directory / "run", [](const auto& path) {
    put(path / "a", "1");
    std::filesystem::create_directory(path / "sub");
    put(path / "sub/b", "2");
  });
  EXPECT_EQ(read_file(directory / "run/sub/b"), "2");
  write_directory_atomically(directory / "run/", [&](const auto& path) {
    EXPECT_EQ(read_file(directory / "run/a"), "1") << "the old one stays until the new one is whole";
    put(path / "c", "3");
  });
  EXPECT_EQ(read_file(directory / "run/c"), "3");
  EXPECT_FALSE(exists(directory / "run/a"));
  EXPECT_EQ(directory.entries(), 1U);
}

TEST(WriteDirectory, FailureLeavesTheOldOne) {
  const TemporaryDirectory directory;
  write_directory_atomically(directory / "run", [](const auto& path) { put(path / "a", "1"); });
  expect_error(ErrorKind::kNumeric, {"half-way"}, [&] {
    write_directory_atomically(directory / "run", [](const auto& path) {
      put(path / "a", "2");
      fail(ErrorKind::kNumeric, "half-way");
    });
  });
  EXPECT_EQ(read_file(directory / "run/a"), "1");
  EXPECT_EQ(directory.entries(), 1U);
}

TEST(WriteDirectory, RefusesToReplaceAFile) {
  const TemporaryDirectory directory;
  put(directory / "x", "file");
  expect_error(ErrorKind::kIo, {"no directory"},
               [&] { write_directory_atomically(directory / "x", [](const auto&) {}); });
  EXPECT_EQ(read_file(directory / "x"), "file");
}

TEST(Temporaries, AbandonedOnesAreRemoved) {
  const TemporaryDirectory directory;
  put(directory / "keep", "1");
  put(directory / ".model.123-0.weft-tmp", "half");
  std::filesystem::create_directory(directory / ".step.123-1.weft-tmp");
  put(directory / ".step.123-1.weft-tmp/part", "half");
  remove_abandoned_temporaries(directory.path());
  EXPECT_EQ(directory.entries(), 1U);
  expect_error(ErrorKind::kIo, {"missing"}, [&] { remove_abandoned_temporaries(directory / "missing"); });
}

TEST(MappedFile, MapsMovesAndReads) {
  const TemporaryDirectory directory;
  put(directory / "x", "0123456789");
  MappedFile file(directory / "x");
  MappedFile moved = std::move(file);
  ASSERT_EQ(moved.bytes().size(), 10U);
  EXPECT_EQ(moved.bytes()[9], std::byte{'9'});
  char text[4] = {};
  moved.read_at(3, text, 3);
  EXPECT_STREQ(text, "345");
  expect_error(ErrorKind::kArgument, {"leaves"}, [&] { moved.read_at(8, text, 3); });
  expect_error(ErrorKind::kArgument, {"leaves"}, [&] { moved.read_at(~std::uint64_t{0}, text, 3); });
}

TEST(MappedFile, EmptyFilesAreFine) {
  const TemporaryDirectory directory;
  put(directory / "x", "");
  EXPECT_TRUE(MappedFile(directory / "x").bytes().empty());
}

TEST(MappedFile, AFileThatShrinksIsAnError) {
  const TemporaryDirectory directory;
  put(directory / "x", std::string(100000, 'x'));
  const MappedFile file(directory / "x");
  file.check_unchanged();
  std::filesystem::resize_file(directory / "x", 10);
  char text[4];
  expect_error(ErrorKind::kIo, {"shrank from 100000 to 10"}, [&] { file.check_unchanged(); });
  expect_error(ErrorKind::kIo, {"shrank"}, [&] { file.read_at(50000, text, 4); });
}

}  // namespace
}  // namespace weft
