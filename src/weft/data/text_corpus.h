// SPDX-License-Identifier: Apache-2.0
// Text on disk: files and folders joined into one run of bytes. Reads go through pread and not through a memory map, so
// that a file that shrinks meanwhile is an error and never a SIGBUS; no descriptor stays open, so that folders of any
// size work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::data {

/// One file of a corpus, with the size that it had when the corpus was made.
struct TextFile {
  std::filesystem::path path;
  std::int64_t begin;  ///< position of its first byte in the corpus
  std::int64_t bytes;
};

/// A list of files with their places in one run of bytes; holds no text itself.
class TextCorpus {
 public:
  /// `paths` in the order given; a folder stands for the regular files below it, sorted by path, hidden ones left out.
  /// Errors: kIo that names the path, when it is missing, unreadable, neither file nor folder, or holds no text.
  explicit TextCorpus(const std::vector<std::string>& paths);

  std::int64_t bytes() const noexcept { return bytes_; }
  const std::vector<TextFile>& files() const noexcept { return files_; }

  /// Copies bytes [begin, begin + count) to `destination`.
  /// Errors: kIo that names the file, when it went away, shrank or cannot be read.
  void read(std::int64_t begin, std::int64_t count, char* destination) const;
  /// The first `maximum` bytes, or all of them when `maximum` is 0.
  std::string text(std::int64_t maximum = 0) const;

 private:
  void add(const std::filesystem::path& file);

  std::vector<TextFile> files_;
  std::int64_t bytes_ = 0;
};

}  // namespace weft::data
