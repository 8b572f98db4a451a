// SPDX-License-Identifier: Apache-2.0
// Memory that lies in a file: what does not fit into a computer's memory waits on its disk. The system writes pages out
// when it needs room and reads them again when they are touched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>

#include "weft/core/descriptor.h"

namespace weft {

/// Pieces of a file without a name in a directory, mapped into memory. The file grows and is not cut; it is gone when
/// the object or the process is. Safe from several threads. A process that fork() makes shares the pieces.
class FileMemory {
 public:
  /// Errors: kIo where no file can be made there.
  explicit FileMemory(const std::filesystem::path& directory);
  ~FileMemory();
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;

  /// At least `bytes`, which may be 0, from a page's begin on, with any content. The disk has room for it, so that
  /// writing cannot fail. Errors: kIo where the disk is full.
  void* take(std::size_t bytes);
  /// Whether take() gave `address`, and nobody has given it back.
  bool owns(const void* address) const;
  /// Takes back what take() gave.
  void give_back(void* address) noexcept;
  /// Bytes of the file: the most that was held at once, and what lies between the pieces.
  std::size_t bytes() const;

 private:
  void grow(std::size_t bytes);
  void add_free(char* begin, std::size_t bytes);

  mutable std::mutex mutex_;
  Descriptor file_;
  std::size_t size_ = 0;
  std::map<char*, std::size_t> free_;    // neighbours are joined
  std::map<char*, std::size_t> held_;    // pieces that are given out
  std::map<char*, std::size_t> mapped_;  // what munmap() is given
};

}  // namespace weft
