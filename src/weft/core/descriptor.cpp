// SPDX-License-Identifier: Apache-2.0
// open, read, write, fsync and close with every failure reported.
#include "weft/core/descriptor.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft {

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

Descriptor Descriptor::open_regular(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever. Regular files do not know the flag. What the
  // path names is asked of the descriptor: the path itself may name something else a moment later.
  Descriptor descriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat status{};
  if (::fstat(descriptor.number_, &status) != 0) {
    fail_io("read", path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorKind::kIo, "cannot read ", quote(path.native(), 4096), ": ",
         S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file");
  }
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
