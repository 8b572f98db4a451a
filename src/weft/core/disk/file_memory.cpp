// SPDX-License-Identifier: Apache-2.0
// Free pieces in the order of their addresses; the smallest that is large enough is cut.
#include "weft/core/disk/file_memory.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/temporary_name.h"

namespace weft {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLeastGrowth = std::size_t{64} << 20;
constexpr std::size_t kMost = std::size_t{1} << 46;  // beyond what processors address

std::size_t in_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// A file that has no name any more.
Descriptor nameless_file(const std::filesystem::path& directory) {
  const std::filesystem::path name = temporary_name(directory / "offload");
  Descriptor file(name, O_RDWR | O_CREAT | O_EXCL, 0600, directory);
  ::unlink(name.c_str());
  return file;
}

}  // namespace

FileMemory::FileMemory(const std::filesystem::path& directory) : file_(nameless_file(directory)) {}

FileMemory::~FileMemory() {
  for (const auto& [begin, bytes] : mapped_) {
    ::munmap(begin, bytes);
  }
}

void* FileMemory::take(std::size_t bytes) {
  if (bytes > kMost) {
    fail(ErrorKind::kIo, "cannot keep ", bytes, " bytes in ", quote(file_.path().native(), 4096));
  }
  const std::size_t needed = in_pages(bytes == 0 ? 1 : bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto smallest = [&] {
    auto best = free_.end();
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      if (piece->second >= needed && (best == free_.end() || piece->second < best->second)) {
        best = piece;
      }
    }
    return best;
  };
  auto piece = smallest();
  if (piece == free_.end()) {
    grow(needed);
    piece = smallest();
  }
  const auto [begin, found] = *piece;
  held_.emplace(begin, needed);
  free_.erase(piece);
  if (found > needed) {
    free_.emplace(begin + needed, found - needed);
  }
  return begin;
}

void FileMemory::grow(std::size_t bytes) {
  // In proportion, so that there are few pieces to unmap.
  const std::size_t added = in_pages(std::max({bytes, kLeastGrowth, size_ / 8}));
  // Blocks now, because a page of a full disk would end the process with a signal when it is written.
  const int error = ::posix_fallocate(file_.number(), static_cast<off_t>(size_), static_cast<off_t>(added));
  if (error != 0) {
    fail_io(concat("keep ", size_ + added, " bytes in a file of"), file_.path(), error);
  }
  void* const begin =
      ::mmap(nullptr, added, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), static_cast<off_t>(size_));
  if (begin == MAP_FAILED) {
    fail_io("map a file of", file_.path(), errno);
  }
  size_ += added;
  mapped_.emplace(static_cast<char*>(begin), added);
  add_free(static_cast<char*>(begin), added);
}

void FileMemory::add_free(char* begin, std::size_t bytes) {
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && begin + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(begin, bytes);
}

bool FileMemory::owns(const void* address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return held_.contains(static_cast<char*>(const_cast<void*>(address)));
}

void FileMemory::give_back(void* address) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto piece = held_.find(static_cast<char*>(address));
  if (piece != held_.end()) {
    add_free(piece->first, piece->second);
    held_.erase(piece);
  }
}

std::size_t FileMemory::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return size_;
}

}  // namespace weft
