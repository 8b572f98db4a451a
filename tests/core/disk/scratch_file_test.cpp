// SPDX-License-Identifier: Apache-2.0
// Where temporary files and folders cannot be made or written, the message says where they are and who chose that.
#include "weft/core/disk/scratch_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>

#include "support/expect_error.h"
#include "weft/core/environment.h"
#include "weft/core/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class TemporaryPlace {
 public:
  explicit TemporaryPlace(const char* folder) : before_(environment("TMPDIR").value_or("")) {
    ::setenv("TMPDIR", folder, 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~TemporaryPlace() {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;

 private:
  std::string before_;
};

// The hint of what `work` throws.
template <typename Work>
std::string hint_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.hint();
  }
  return "nothing was thrown";
}

TEST(ScratchFile, AFullDiskIsSaidWithTheFolderAndWhoNamesIt) {
  Descriptor full("/dev/full", O_WRONLY, 0600, "texts.txt.gz");
  write_scratch(full, "", 0);
  const TemporaryPlace place("/var");
  const auto write = [&] { write_scratch(full, "text", 4); };
  test::expect_error(ErrorKind::kIo, {"cannot write 'texts.txt.gz'", "No space left"}, write);
  EXPECT_EQ(hint_of(write), "temporary files are in '/var'; TMPDIR names another folder for them");
}

TEST(ScratchFile, OnlyErrorsOfTheSystemGetAHint) {
  EXPECT_EQ(hint_of([] { with_temporary_folder([] { fail(ErrorKind::kFormat, "wrong"); }); }), "");
  EXPECT_EQ(hint_of([] { with_temporary_folder([] { throw Error(ErrorKind::kIo, "gone", "own"); }); }), "own");
}

TEST(TemporaryFolder, IsRemovedWithWhatLiesInIt) {
  fs::path path;
  {
    const TemporaryFolder folder("test");
    path = folder.path();
    fs::create_directory(path / "inner");
    std::ofstream(path / "inner/file") << "text";
    EXPECT_TRUE(fs::exists(path / "inner/file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, SaysWhereItCannotBeMade) {
  const TemporaryPlace place("/proc");  // where nobody makes a folder
  const auto make = [] { const TemporaryFolder folder("test"); };
  test::expect_error(ErrorKind::kIo, {"cannot write '/proc/weft-test-"}, make);
  EXPECT_EQ(hint_of(make), "temporary files are in '/proc'; TMPDIR names another folder for them");
}

}  // namespace
}  // namespace weft
