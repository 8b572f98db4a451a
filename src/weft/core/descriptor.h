// SPDX-License-Identifier: Apache-2.0
// An open file of the operating system. Every failure is a kIo error with the path and the system's reason; writes are
// whole or an error, reads survive signals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace weft {

/// Throws kIo: "cannot <action> <path>: <reason of errno>".
[[noreturn]] void fail_io(std::string_view action, const std::filesystem::path& path, int error_number);

/// Owns a file descriptor: opened by the constructor, closed by the destructor. Every member that asks the system
/// throws kIo.
class Descriptor {
 public:
  Descriptor() = default;
  /// `flags` and `mode` as open(2) has them; close-on-exec is added. Messages name `shown` instead of `path` when it is
  /// given.
  Descriptor(const std::filesystem::path& path, int flags, unsigned mode = 0666, std::filesystem::path shown = {});
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Opens an existing regular file for reading; a directory, FIFO or device is a kIo error, and never blocks. `flags`
  /// of open(2) are added. A pointer of Git LFS in place of a file is a kFormat error: nobody means to read one.
  static Descriptor open_regular(const std::filesystem::path& path, int flags = 0);

  /// For calls of the system that this class does not have; -1 when nothing is open.
  int number() const noexcept { return number_; }
  /// As messages name it.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Bytes of the file now.
  std::uint64_t size() const;

  /// Appends at the file's position: all of it, or kIo after a part.
  void write_all(const void* data, std::size_t bytes);
  /// Fills `destination` up to the end of the file; returns how many bytes that was.
  std::size_t read_at(std::uint64_t offset, void* destination, std::size_t bytes) const;
  /// Cuts the file to its first `bytes`.
  void truncate(std::uint64_t bytes);
  /// fsync: what was written is on disk after it.
  void sync();
  /// Reports the late write error that close(2) may tell; the destructor would not.
  void close();

 private:
  std::filesystem::path path_;
  int number_ = -1;
};

/// fsync of a directory, so that renames in it survive a crash.
void sync_directory(const std::filesystem::path& directory);

}  // namespace weft
