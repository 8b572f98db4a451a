// SPDX-License-Identifier: Apache-2.0
// Files read whole or mapped; a file that shrinks is an error and never a signal where the caller asks first.
#include <cerrno>
#include <utility>

#include <sys/mman.h>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"

namespace weft {

std::string read_file(const FilePlace& place, std::uint64_t maximum_bytes) {
  const Descriptor file = place.open();
  constexpr std::size_t kChunk = 1 << 16;
  const auto too_large = [&](std::uint64_t size) {
    if (size > maximum_bytes) {
      fail(ErrorKind::kIo, "cannot read ", quote(place.path().native(), 4096), ": it has more than ", maximum_bytes,
           " bytes");
    }
  };
  std::uint64_t size = file.size();
  too_large(size);
  std::string content(size, '\0');
  content.resize(file.read_at(0, content.data(), size));
  // Files of /proc tell no size, and a log may grow while it is read: go on until the end is seen.
  for (std::size_t count = kChunk; count == kChunk && content.size() == size;) {
    content.resize(size + kChunk);
    count = file.read_at(size, content.data() + size, kChunk);
    size += count;
    content.resize(size);
    too_large(size);
  }
  return content;
}

MappedFile::MappedFile(const FilePlace& place) : path_(place.path()), descriptor_(place.open()) {
  size_ = descriptor_.size();
  // mmap refuses a length of 0; an empty file is an empty span.
  if (size_ == 0) {
    return;
  }
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_.number(), 0);
  if (address == MAP_FAILED) {
    fail_io("map", path_, errno);
  }
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::move(other.descriptor_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  descriptor_ = std::move(other.descriptor_);
  return *this;
}

void MappedFile::check_unchanged() const {
  // A page beyond the end of the file is SIGBUS on touch, however valid the map was when it was made.
  const std::uint64_t now = descriptor_.size();
  if (now < size_) {
    fail(ErrorKind::kIo, "cannot read ", quote(path_.native(), 4096), ": it shrank from ", size_, " to ", now,
         " bytes while it was in use");
  }
}

void MappedFile::read_at(std::uint64_t offset, void* destination, std::size_t bytes) const {
  require(offset <= size_ && bytes <= size_ - offset, "a read of ", bytes, " bytes at ", offset, " leaves ",
          Quoted(path_.native(), 4096), ", which has ", size_);
  if (descriptor_.read_at(offset, destination, bytes) < bytes) {
    check_unchanged();
    fail(ErrorKind::kIo, "cannot read ", quote(path_.native(), 4096), ": it ended early");
  }
}

}  // namespace weft
