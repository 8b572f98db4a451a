// SPDX-License-Identifier: Apache-2.0
// Text on disk: files and folders, plain or gzip, joined into one run of bytes. Reads go through pread and not through
// a memory map, so that a file that shrinks meanwhile is an error and never a SIGBUS; no descriptor stays open, so that
// folders of any size work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/descriptor.h"
#include "weft/readers/byte_source.h"

namespace weft::data {

/// One file of a corpus, with the size that its text had when the corpus was made.
struct TextFile {
  std::filesystem::path path;
  std::int64_t begin;          ///< position of its first byte in the corpus
  std::int64_t bytes;          ///< of text: what gzip holds, not what it takes up
  std::int64_t unpacked = -1;  ///< of a gzip file: where its text begins in the scratch file
};

/// A list of files with their places in one run of bytes. Of plain files it holds no text; gzip files are decompressed
/// once, into a scratch file that all of them share, so that a window is read where it lies and memory does not grow.
class TextCorpus {
 public:
  /// `paths` in the order given; a folder stands for the regular files below it, sorted by path, hidden ones left out.
  /// `maximum` ends the corpus behind so many bytes; 0 is all of it. Errors: kIo that names the path, when it is
  /// missing, unreadable, neither file nor folder, or holds no text, or when the scratch file does not fit; kFormat for
  /// gzip data that are damaged or cut off, and for files that are compressed otherwise.
  explicit TextCorpus(const std::vector<std::string>& paths, std::int64_t maximum = 0);

  std::int64_t bytes() const noexcept { return bytes_; }
  const std::vector<TextFile>& files() const noexcept { return files_; }

  /// Copies bytes [begin, begin + count) to `destination`.
  /// Errors: kIo that names the file, when it went away, shrank or cannot be read.
  void read(std::int64_t begin, std::int64_t count, char* destination) const;
  /// The first `maximum` bytes, or all of them when `maximum` is 0.
  std::string text(std::int64_t maximum = 0) const;

 private:
  void add(const std::filesystem::path& file);
  std::int64_t unpack(readers::ByteSource& source);
  void read_plain(const TextFile& file, std::int64_t offset, std::int64_t count, char* destination) const;
  void read_unpacked(const TextFile& file, std::int64_t offset, std::int64_t count, char* destination) const;

  std::int64_t maximum_;
  std::vector<TextFile> files_;
  std::int64_t bytes_ = 0;
  Descriptor scratch_;  // of the text of gzip files, once there is one
  std::int64_t unpacked_ = 0;
};

}  // namespace weft::data
