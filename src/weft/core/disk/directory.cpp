// SPDX-License-Identifier: Apache-2.0
// A directory that appears at its destination whole or not at all.
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/temporary_name.h"

namespace weft {
namespace {

// A directory that is removed again unless it has been moved away.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::filesystem::path& destination) : path_(temporary_name(destination)) {
    std::error_code error;
    if (!std::filesystem::create_directory(path_, error)) {
      fail_io("write", destination, error ? error.value() : EEXIST);
    }
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// Brings every file and folder below `directory` to disk, deepest first. Links are left out: opening one would follow
// it out of the tree. Messages name `shown`, the path that the user gave.
void sync_tree(const std::filesystem::path& directory, const std::filesystem::path& shown) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error) {
    fail_io("write", shown, error.value());
  }
  for (const auto& entry : entries) {
    if (entry.is_symlink(error)) {
      continue;
    }
    if (entry.is_directory(error)) {
      sync_tree(entry.path(), shown / entry.path().filename());
    } else if (entry.is_regular_file(error)) {
      Descriptor(entry.path(), O_RDONLY, 0, shown / entry.path().filename()).sync();
    }
  }
  sync_directory(directory);
}

// Moves `fresh` to `destination`; what was there is at `fresh` afterwards, or beside it on file systems that cannot
// exchange.
void exchange(const std::filesystem::path& fresh, const std::filesystem::path& destination) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, destination.c_str(), RENAME_EXCHANGE) == 0) {
    return;
  }
  // EINVAL: this file system cannot exchange two names. ENOSYS: the kernel is older than 3.15.
  if (errno != EINVAL && errno != ENOSYS) {
    fail_io("write", destination, errno);
  }
  const std::filesystem::path aside = temporary_name(destination);
  if (::rename(destination.c_str(), aside.c_str()) != 0) {
    fail_io("write", destination, errno);
  }
  if (::rename(fresh.c_str(), destination.c_str()) != 0) {
    // Back to what was there. Should that fail as well, old and new both lie beside the destination.
    const int reason = errno;
    ::rename(aside.c_str(), destination.c_str());
    fail_io("write", destination, reason);
  }
  std::error_code ignored;
  std::filesystem::remove_all(aside, ignored);
}

}  // namespace

void write_directory_atomically(const std::filesystem::path& destination,
                                const std::function<void(const std::filesystem::path&)>& fill) {
  const std::filesystem::path target = resolve_destination(destination);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(target, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) {
    fail(ErrorKind::kIo, "cannot write ", quote(target.native(), 4096), ": it is there and no directory");
  }
  const TemporaryDirectory fresh(target);
  fill(fresh.path());
  sync_tree(fresh.path(), target);
  // After an exchange `fresh` names what was there before, and its destructor removes that.
  if (std::filesystem::exists(status)) {
    exchange(fresh.path(), target);
  } else if (::rename(fresh.path().c_str(), target.c_str()) != 0) {
    fail_io("write", target, errno);
  }
  sync_directory(target.parent_path());
}

}  // namespace weft
