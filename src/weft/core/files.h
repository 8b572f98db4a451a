// SPDX-License-Identifier: Apache-2.0
// Files as Weft uses them: read whole or mapped, and written so that a reader never takes a part for the whole:
// temporary file in the same directory, fsync, rename, fsync of the directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/descriptor.h"
#include "weft/core/disk/model_file.h"

namespace weft {

/// The bytes of a regular file. Errors: kIo with the path and the system's reason; a directory, FIFO or device, or a
/// file of more than `maximum_bytes`, is an error.
std::string read_file(const FilePlace& place, std::uint64_t maximum_bytes = std::numeric_limits<std::uint64_t>::max());

/// Replaces `path` by `content` atomically. On any failure what was there before is untouched and no temporary remains.
/// A symbolic link stays and its target is replaced; what is there and is no regular file (a device, a directory) is an
/// error.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// A file under construction beside its destination; appears at the destination only by commit().
class AtomicFile {
 public:
  /// Makes the temporary. Errors: kIo, also where the destination is there and no regular file.
  explicit AtomicFile(std::filesystem::path destination);
  ~AtomicFile();  ///< removes the temporary when commit() was not reached
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends to the temporary. Errors: kIo, named by the destination.
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// fsync, rename, fsync of the directory.
  void commit();

 private:
  std::filesystem::path destination_;
  std::filesystem::path temporary_;
  Descriptor descriptor_;
};

/// Builds a directory beside `destination` with `fill`, then moves it into place by rename (an existing destination is
/// exchanged and then removed). A crash leaves the old or the new directory whole. Everything that `fill` made is
/// fsynced first. On a file system that cannot exchange (NFS), the old directory is moved aside first, and a crash
/// between the two renames leaves both beside it.
void write_directory_atomically(const std::filesystem::path& destination,
                                const std::function<void(const std::filesystem::path&)>& fill);

/// Removes what a killed process left half-written in `directory` itself (not below it): call it only for a directory
/// that no other process is writing to, such as a run directory at resume.
void remove_abandoned_temporaries(const std::filesystem::path& directory);

/// A read-only memory map of a regular file. The length is fixed when it is opened; `check_unchanged` throws kIo when
/// the file has shrunk since, so that a caller can test before touching pages.
class MappedFile {
 public:
  /// Errors: kIo when it cannot be read or is no regular file. An empty file is an empty span.
  explicit MappedFile(const FilePlace& place);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// The whole file, valid while this object lives. Touching it after the file has shrunk is SIGBUS: see read_at().
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  const std::filesystem::path& path() const noexcept { return path_; }
  void check_unchanged() const;
  /// Copies the bytes at `offset` into `destination` by pread: a file that has shrunk is a kIo error, where touching
  /// the map would be SIGBUS.
  void read_at(std::uint64_t offset, void* destination, std::size_t bytes) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  Descriptor descriptor_;
};

}  // namespace weft
