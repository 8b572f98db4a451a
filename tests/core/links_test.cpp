// SPDX-License-Identifier: Apache-2.0
// Links replace what is there and leave nothing behind, also where both names are of one file already.
#include "weft/core/disk/links.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

TEST(Links, ReplaceWhatIsThere) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory / "from", "new");
  write_file_atomically(directory / "to", "old");
  replace_by_link(directory / "from", directory / "to");
  EXPECT_EQ(read_file(directory / "to"), "new");
  EXPECT_EQ(fs::hard_link_count(directory / "from"), 2U);
}

TEST(Links, LeaveNoTemporaryBetweenTwoNamesOfOneFile) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory / "from", "content");
  for (int round = 0; round < 3; ++round) {
    replace_by_link(directory / "from", directory / "to");
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 2);
  EXPECT_EQ(fs::hard_link_count(directory / "from"), 2U);
}

TEST(Links, LeaveNoTemporaryWhereTheyFail) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory / "from", "content");
  fs::create_directory(directory / "to");
  test::expect_error(ErrorKind::kIo, {"to'", "directory"},
                     [&] { replace_by_link(directory / "from", directory / "to"); });
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 2);
}

}  // namespace
}  // namespace weft
