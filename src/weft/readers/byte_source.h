// SPDX-License-Identifier: Apache-2.0
// The bytes of a file as a stream: plain or gzip (told by its first two bytes, members one after another as bgzip and
// cat make them), in memory that does not grow with the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "weft/core/descriptor.h"

namespace weft::readers {

/// Reads forward only.
class ByteSource {
 public:
  /// Errors: kIo when the file cannot be read or is no regular file.
  explicit ByteSource(const std::filesystem::path& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills `destination` with up to `bytes`; 0 at the end and never before it. Errors: kIo for a file that has shrunk
  /// since it was opened, kFormat for gzip data that are damaged, cut off or followed by something else.
  std::size_t read(char* destination, std::size_t bytes);
  const std::filesystem::path& path() const noexcept { return file_.path(); }

 private:
  struct Inflate;
  std::size_t read_file(char* destination, std::size_t bytes);
  std::size_t read_gzip(char* destination, std::size_t bytes);
  bool fetch();
  bool begin_member();

  Descriptor file_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;
  std::vector<char> compressed_;
  std::unique_ptr<Inflate> inflate_;  // null for a plain file
};

}  // namespace weft::readers
