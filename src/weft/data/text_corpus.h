// SPDX-License-Identifier: Apache-2.0
// Text or sound on disk: files and folders joined into one run of bytes, of text plain or gzip, of sound a byte of
// mu-law for each sample of a WAV. Reads go through pread and not through
// a memory map, so that a file that shrinks meanwhile is an error and never a SIGBUS; no descriptor stays open, so that
// folders of any size work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/descriptor.h"
#include "weft/data/known_contents.h"
#include "weft/readers/byte_source.h"

namespace weft::data {

/// What the files of a corpus hold, and so what its bytes are.
enum class Content {
  kText,
  kSound,         ///< WAV of one channel
  kFirstChannel,  ///< WAV of any number of channels, of which the first is taken
};

/// One file of a corpus, with the size that its text had when the corpus was made.
struct TextFile {
  std::filesystem::path path;
  std::int64_t begin;          ///< position of its first byte in the corpus
  std::int64_t bytes;          ///< of text: what gzip holds, not what it takes up
  std::int64_t unpacked = -1;  ///< of gzip, UTF-16 and sound: where its bytes begin in the scratch file
  std::int64_t modified = 0;   ///< of plain text: when the file was last written, in the system's nanoseconds
  std::int64_t skipped = 0;    ///< bytes before the text: a byte order mark
};

/// A list of files with their places in one run of bytes. Of plain files it holds no text; gzip files are decompressed
/// once, as are UTF-16 and sound, into a scratch file that all of them share, so that a window is read where it lies
/// and memory does not grow. A byte order mark is no text.
class TextCorpus {
 public:
  /// `paths` in the order given; a folder stands for the regular files below it, sorted by path, hidden ones left out.
  /// `maximum` ends the corpus behind so many bytes; 0 is all of it. Errors: kIo that names the path, when it is
  /// missing, unreadable, neither file nor folder, or holds no text, or when the scratch file does not fit; kFormat for
  /// gzip data that are damaged or cut off, for files that are compressed otherwise, for what readers::refuse_no_text()
  /// knows, and for what is no WAV;
  /// kArgument for sound of several channels, or rates, naming the file.
  explicit TextCorpus(const std::vector<std::string>& paths, std::int64_t maximum = 0,
                      Content content = Content::kText);

  std::int64_t bytes() const noexcept { return bytes_; }
  const std::vector<TextFile>& files() const noexcept { return files_; }
  /// Of sound: samples a second; 0 for text.
  std::int64_t rate() const noexcept { return rate_; }

  /// Takes the digest of each plain file, so that one that is touched, or written again with the same content, stays
  /// the same text to read(). For a corpus that is read for long: it reads every file whole. Errors: kIo.
  void remember_content() const;

  /// Copies bytes [begin, begin + count) to `destination`.
  /// Errors: kIo that names the file, when it went away, shrank, cannot be read, or was written meanwhile; the last
  /// only with another content behind remember_content().
  void read(std::int64_t begin, std::int64_t count, char* destination) const;
  /// The first `maximum` bytes, or all of them when `maximum` is 0.
  std::string text(std::int64_t maximum = 0) const;

 private:
  void add(const std::filesystem::path& file);
  void add_text(const std::vector<std::string>& paths);
  void add_sound(const std::vector<std::string>& paths, bool first_channel);
  std::int64_t unpack(readers::ByteSource& source);
  void need_scratch_file();
  void read_plain(const TextFile& file, std::int64_t offset, std::int64_t count, char* destination) const;
  void read_unpacked(const TextFile& file, std::int64_t offset, std::int64_t count, char* destination) const;

  std::int64_t maximum_;
  std::unique_ptr<KnownContents> known_ = std::make_unique<KnownContents>();
  std::vector<TextFile> files_;
  std::int64_t bytes_ = 0;
  Descriptor scratch_;  // of the text of gzip files, once there is one
  std::int64_t unpacked_ = 0;
  std::int64_t rate_ = 0;
};

}  // namespace weft::data
