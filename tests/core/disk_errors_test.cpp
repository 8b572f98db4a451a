// SPDX-License-Identifier: Apache-2.0
// Disks that are full or read-only: the error names path and reason, what was there stays, and no temporary is left.
// Full and read-only disks are real ones: small file systems in memory that a child process mounts in a namespace of
// its own.
#include <cerrno>
#include <csignal>
#include <exception>
#include <fstream>
#include <functional>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

constexpr int kCannotMount = 77;

// Exit status of a child that runs `body`, 0 when no expectation failed in it.
int in_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Whether this process now has mounts of its own; who is not root becomes it in a namespace of users.
bool separate_mounts() {
  if (::unshare(CLONE_NEWNS) == 0) {
    return true;
  }
  const std::string user = concat("0 ", ::geteuid(), " 1");
  const std::string group = concat("0 ", ::getegid(), " 1");
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return false;
  }
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/gid_map") << group;
  std::ofstream map("/proc/self/uid_map");
  map << user << std::flush;
  return map.good();
}

// Mounts 64 KiB of memory at `directory`, for this process and its children only.
void mount_small_disk(const std::filesystem::path& directory) {
  const bool separate = separate_mounts();
  if (!separate || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("weft", directory.c_str(), "tmpfs", 0, "size=64k") != 0) {
    ::_exit(kCannotMount);
  }
}

void expect_disk_test(const std::function<void(const TemporaryDirectory&)>& body) {
  const TemporaryDirectory directory;
  const int status = in_child([&] {
    mount_small_disk(directory.path());
    body(directory);
  });
  if (status == kCannotMount) {
    GTEST_SKIP() << "this process may not mount a file system";
  }
  EXPECT_EQ(status, 0);
}

TEST(DiskErrors, FullDiskKeepsTheOldFile) {
  expect_disk_test([](const TemporaryDirectory& directory) {
    write_file_atomically(directory / "x", "old");
    expect_error(ErrorKind::kIo, {"/x", "No space left"},
                 [&] { write_file_atomically(directory / "x", std::string(1 << 20, 'n')); });
    EXPECT_EQ(read_file(directory / "x"), "old");
    EXPECT_EQ(directory.entries(), 1U);
    write_file_atomically(directory / "x", "new");
    EXPECT_EQ(read_file(directory / "x"), "new");
  });
}

TEST(DiskErrors, FullDiskKeepsTheOldDirectory) {
  expect_disk_test([](const TemporaryDirectory& directory) {
    const auto fill = [](std::size_t bytes) {
      return [bytes](const std::filesystem::path& path) { write_file_atomically(path / "a", std::string(bytes, 'a')); };
    };
    write_directory_atomically(directory / "run", fill(10));
    expect_error(ErrorKind::kIo, {"No space left"},
                 [&] { write_directory_atomically(directory / "run", fill(1 << 20)); });
    EXPECT_EQ(read_file(directory / "run/a").size(), 10U);
    EXPECT_EQ(directory.entries(), 1U);
  });
}

TEST(DiskErrors, ReadOnlyDiskIsNamed) {
  expect_disk_test([](const TemporaryDirectory& directory) {
    write_file_atomically(directory / "x", "old");
    if (::mount("none", directory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      ::_exit(kCannotMount);
    }
    expect_error(ErrorKind::kIo, {"/x", "Read-only file system"},
                 [&] { write_file_atomically(directory / "x", "new"); });
    expect_error(ErrorKind::kIo, {"/d", "Read-only file system"},
                 [&] { write_directory_atomically(directory / "d", [](const auto&) {}); });
    EXPECT_EQ(read_file(directory / "x"), "old");
  });
}

TEST(DiskErrors, AMountedDestinationIsNotReplaced) {
  expect_disk_test([](const TemporaryDirectory& directory) {
    write_file_atomically(directory / "x", "old");
    write_file_atomically(directory / "y", "other");
    if (::mount((directory / "y").c_str(), (directory / "x").c_str(), nullptr, MS_BIND, nullptr) != 0) {
      ::_exit(kCannotMount);
    }
    expect_error(ErrorKind::kIo, {"/x", "busy"}, [&] { write_file_atomically(directory / "x", "new"); });
    EXPECT_EQ(read_file(directory / "x"), "other");
    EXPECT_EQ(directory.entries(), 2U);
  });
}

TEST(DiskErrors, FullDeviceReportsTheReason) {
  Descriptor file("/dev/full", O_WRONLY);
  expect_error(ErrorKind::kIo, {"cannot write '/dev/full'", "No space left"}, [&] { file.write_all("x", 1); });
}

TEST(DiskErrors, SizeLimitKeepsTheOldFile) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "x", "old");
  const int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    expect_error(ErrorKind::kIo, {"/x", "File too large"},
                 [&] { write_file_atomically(directory / "x", std::string(5000, 'n')); });
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(directory / "x"), "old");
  EXPECT_EQ(directory.entries(), 1U);
}

TEST(DiskErrors, ForbiddenFolderIsNamed) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may write anywhere";
  }
  const TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  expect_error(ErrorKind::kIo, {"/x", "Permission denied"}, [&] { write_file_atomically(directory / "x", "new"); });
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_all);
}

// A process that is killed at any moment while it replaces a directory leaves the old or the new one, whole.
TEST(DiskErrors, KilledWritersLeaveAWholeDirectory) {
  const TemporaryDirectory directory;
  const auto write = [&](char letter) {
    write_directory_atomically(directory / "run", [letter](const auto& path) {
      write_file_atomically(path / "a", std::string(100, letter));
      write_file_atomically(path / "b", std::string(100, letter));
    });
  };
  write('z');
  for (int delay = 0; delay < 20; ++delay) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (char letter = 'a';; letter = letter == 'y' ? 'a' : static_cast<char>(letter + 1)) {
        write(letter);
      }
    }
    ::usleep(static_cast<useconds_t>(1000 + 700 * delay));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string left = read_file(directory / "run/a");
    EXPECT_EQ(left.size(), 100U);
    EXPECT_EQ(left, read_file(directory / "run/b"));
  }
  remove_abandoned_temporaries(directory.path());
  EXPECT_EQ(directory.entries(), 1U);
}

}  // namespace
}  // namespace weft
