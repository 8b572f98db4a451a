// SPDX-License-Identifier: Apache-2.0
// A socket's file belongs to one server: what a dead one left is replaced, what lives or is no socket stays.
#include "weft/server/socket_file.h"

#include <fstream>
#include <optional>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace weft::server {
namespace {

class SocketFileTest : public ::testing::Test {
 protected:
  ino_t inode() const {
    struct stat found{};
    return ::lstat(path_.c_str(), &found) == 0 ? found.st_ino : 0;
  }

  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "socket";
};

TEST_F(SocketFileTest, OnlyItsOwnerMayConnect) {
  const mode_t before = ::umask(0);
  const SocketFile file(path_);
  ::umask(before);
  struct stat found{};
  ASSERT_EQ(::lstat(path_.c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 0077U, 0U);
  EXPECT_EQ(::umask(before), before) << "the mask is as it was";
}

TEST_F(SocketFileTest, GoesWithItsServer) {
  std::optional<SocketFile> file(path_);
  EXPECT_NE(inode(), 0U);
  file.reset();
  EXPECT_EQ(inode(), 0U);
}

TEST_F(SocketFileTest, WhatADeadServerLeftIsReplaced) {
  std::optional<SocketFile> dead(path_);
  ::close(dead->release());
  const ino_t left = inode();
  ASSERT_NE(left, 0U);
  std::optional<SocketFile> second(path_);
  EXPECT_NE(inode(), 0U);
  dead.reset();
  EXPECT_NE(inode(), 0U) << "the first one removes no file of the second";
  second.reset();
  EXPECT_EQ(inode(), 0U);
}

TEST_F(SocketFileTest, ALivingServerKeepsItsFile) {
  const SocketFile first(path_);
  const ino_t before = inode();
  test::expect_error(ErrorKind::kIo, {"in use", "socket"}, [&] { const SocketFile second(path_); });
  EXPECT_EQ(inode(), before);
}

TEST_F(SocketFileTest, OtherFilesStay) {
  std::ofstream(path_) << "mine";
  test::expect_error(ErrorKind::kIo, {"no socket"}, [&] { const SocketFile file(path_); });
  EXPECT_EQ(std::filesystem::file_size(path_), 4U);
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/nowhere", path_);
  test::expect_error(ErrorKind::kIo, {"no socket"}, [&] { const SocketFile file(path_); });
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
}

TEST_F(SocketFileTest, PathsThatNoSocketHas) {
  test::expect_error(ErrorKind::kIo, {"107 bytes"},
                     [&] { const SocketFile file(directory_.path() / std::string(200, 'x')); });
  EXPECT_THROW(SocketFile(directory_.path() / "none" / "socket"), Error);
}

}  // namespace
}  // namespace weft::server
