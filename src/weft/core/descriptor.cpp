// SPDX-License-Identifier: Apache-2.0
// open, read, write, fsync and close with every failure reported.
#include "weft/core/descriptor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft {
namespace {

// A clone of a repository without Git LFS has a few lines in place of each large file: a version, a digest, a size
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
void refuse_pointer(const Descriptor& file, std::uint64_t bytes) {
  std::array<char, 1024> content{};  // a pointer is shorter
  if (bytes >= content.size()) {
    return;
  }
  const std::string_view text(content.data(), file.read_at(0, content.data(), bytes));
  if (!text.starts_with("version https://git-lfs.github.com/spec/") &&
      !text.starts_with("version https://hawser.github.com/spec/")) {
    return;
  }
  constexpr std::string_view kSize = "\nsize ";
  const std::size_t at = text.find(kSize);
  const std::string_view rest = at == std::string_view::npos ? std::string_view() : text.substr(at + kSize.size());
  const std::string_view size = rest.substr(0, std::min<std::size_t>(rest.find_first_not_of("0123456789"), 20));
  throw Error(ErrorKind::kFormat,
              concat(quote(file.path().native(), 4096), " is a pointer of Git LFS in place of the file itself",
                     size.empty() ? std::string() : concat(", which has ", size, " bytes")),
              "`git lfs pull` in its directory gets the file, `weft download ORG/NAME` a model of the Hub");
}

}  // namespace

void fail_io(std::string_view action, const std::filesystem::path& path, int error_number) {
  fail(ErrorKind::kIo, "cannot ", action, " ", quote(path.native(), 4096), ": ",
       std::generic_category().message(error_number));
}

Descriptor::Descriptor(const std::filesystem::path& path, int flags, unsigned mode, std::filesystem::path shown)
    : path_(std::move(shown.empty() ? shown.assign(path) : shown)) {
  // A network file system may take its time, and a signal may come meanwhile.
  do {
    number_ = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (number_ < 0 && errno == EINTR);
  if (number_ < 0) {
    const bool writes = (flags & O_ACCMODE) != O_RDONLY;
    fail_io(writes ? "write" : "open", path_, errno);
  }
}

Descriptor::~Descriptor() {
  if (number_ >= 0) {
    ::close(number_);
  }
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : path_(std::move(other.path_)), number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  // Swapped, so that what this one held is closed by the other's destructor.
  std::swap(path_, other.path_);
  std::swap(number_, other.number_);
  return *this;
}

Descriptor Descriptor::open_regular(const std::filesystem::path& path, int flags) {
  // O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever. Regular files do not know the flag. What the
  // path names is asked of the descriptor: the path itself may name something else a moment later.
  Descriptor descriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);
  struct stat status{};
  if (::fstat(descriptor.number_, &status) != 0) {
    fail_io("read", path, errno);
  }
  if (S_ISFIFO(status.st_mode)) {
    throw Error(ErrorKind::kIo,
                concat("cannot read ", quote(path.native(), 4096), ": it is a pipe, not a regular file"),
                "save what it holds in a file, and name that");
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorKind::kIo, "cannot read ", quote(path.native(), 4096), ": ",
         S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file");
  }
  refuse_pointer(descriptor, static_cast<std::uint64_t>(status.st_size));
  return descriptor;
}

std::uint64_t Descriptor::size() const {
  struct stat status{};
  if (::fstat(number_, &status) != 0) {
    fail_io("read", path_, errno);
  }
  return static_cast<std::uint64_t>(status.st_size);
}

void Descriptor::write_all(const void* data, std::size_t bytes) {
  const char* position = static_cast<const char*>(data);
  while (bytes > 0) {
    // Takes less than asked for near the end of a disk, and at most 2 GB at once.
    const ssize_t written = ::write(number_, position, bytes);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail_io("write", path_, errno);
    }
    position += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

std::size_t Descriptor::read_at(std::uint64_t offset, void* destination, std::size_t bytes) const {
  char* position = static_cast<char*>(destination);
  std::size_t total = 0;
  while (total < bytes) {
    // pread leaves the file's own position alone, so that threads may read at the same time.
    const ssize_t count = ::pread(number_, position + total, bytes - total, static_cast<off_t>(offset + total));
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail_io("read", path_, errno);
    }
    if (count == 0) {
      break;
    }
    total += static_cast<std::size_t>(count);
  }
  return total;
}

void Descriptor::truncate(std::uint64_t bytes) {
  if (::ftruncate(number_, static_cast<off_t>(bytes)) != 0) {
    fail_io("cut", path_, errno);
  }
}

void Descriptor::sync() {
  if (::fsync(number_) != 0) {
    fail_io("write", path_, errno);
  }
}

void Descriptor::close() {
  // On Linux the number is free again even after EINTR: closing it twice could close another thread's file.
  const int number = std::exchange(number_, -1);
  if (number >= 0 && ::close(number) != 0 && errno != EINTR) {
    fail_io("write", path_, errno);
  }
}

void sync_directory(const std::filesystem::path& directory) {
  Descriptor descriptor(directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY);
  // Some network file systems refuse fsync on a directory; they order renames themselves.
  if (::fsync(descriptor.number()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    fail_io("write", directory, errno);
  }
}

}  // namespace weft
