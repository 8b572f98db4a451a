// SPDX-License-Identifier: Apache-2.0
// The one door for text from outside: the bytes of a file, a pipe or standard input as a stream, plain or gzip (members
// one after another, as bgzip and cat make them), in memory that does not grow with the file. Compressed files are told
// by their first bytes, whatever their name: gzip is read, the others are refused with the command that decompresses
// them. So is the encoding: a byte order mark is left out, and UTF-16 behind one becomes UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/descriptor.h"
#include "weft/readers/utf16.h"

namespace weft::readers {

/// Reads forward only. What the first bytes show to be compressed otherwise (xz, zstd, bzip2, zip, lz4, 7z), or to be
/// UTF-32, is a kFormat error with the command that makes a text of it.
class ByteSource {
 public:
  /// What the bytes are: text, whose byte order mark is left out, or anything.
  enum class Content { kText, kAny };

  /// A regular file. Errors: kIo when it cannot be read, or is a directory, a FIFO or a device; kFormat as above.
  explicit ByteSource(const std::filesystem::path& path, Content content = Content::kText);
  /// Anything that can be read from its beginning to its end: a regular file, a FIFO, a device; "-" is standard input.
  /// Errors: kIo when it cannot be read or is a directory. What its first bytes are is known at the first read.
  static ByteSource stream(const std::filesystem::path& path);
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;

  /// Fills `destination` with up to `bytes`, of a pipe with what is there; 0 at the end and never before it. Errors:
  /// kIo for a file that has shrunk since it was opened, kFormat for gzip data that are damaged, cut off or followed by
  /// something else, and for UTF-16 that is none.
  std::size_t read(char* destination, std::size_t bytes);
  /// The bytes up to the first line end, it included, or as many as `limit` of them: read() gives them all the same.
  /// Call it before anything is read. Errors: as read().
  std::string_view first_line(std::size_t limit);
  /// The first `limit` bytes, or all where there are fewer. As first_line() otherwise, whose result it ends.
  std::string_view head(std::size_t limit);
  /// Of the first `limit` bytes those that first_line() and head() have read: nothing is waited for.
  std::string_view read_ahead(std::size_t limit) const { return std::string_view(line_).substr(0, limit); }

  /// Whether the bytes are gzip. Errors: as read().
  bool compressed();
  /// Where the text begins in the file, behind a byte order mark; none for gzip and UTF-16, which the file does not
  /// hold as they are read. Errors: as read().
  std::optional<std::uint64_t> stored_text();
  /// Of a regular file, as they are stored; 0 for anything else.
  std::uint64_t stored_bytes() const noexcept { return size_; }
  const std::filesystem::path& path() const noexcept { return path_; }
  /// For messages: the path in quotes, or "standard input".
  const std::string& name() const noexcept { return name_; }

 private:
  struct Inflate;
  ByteSource();
  std::size_t read_file(char* destination, std::size_t bytes);
  std::size_t read_stored(char* destination, std::size_t bytes);
  std::size_t read_gzip(char* destination, std::size_t bytes);
  std::size_t read_unpacked(char* destination, std::size_t bytes);
  std::size_t read_utf16(char* destination, std::size_t bytes);
  std::size_t read_text(char* destination, std::size_t bytes);
  bool read_on();
  void look_at_head();
  void look_at_mark();
  void decode(std::string_view bytes);
  bool fetch();
  bool begin_member();

  std::filesystem::path path_;
  std::string name_;
  Descriptor file_;      // none for standard input
  bool regular_ = true;  // read by pread, so that a file that shrinks is noticed
  std::uint64_t size_ = 0;
  std::uint64_t offset_ = 0;
  bool looked_ = false;        // at the stored bytes' head
  std::string head_;           // stored bytes that were read to look at them
  std::string line_;           // text that first_line() and head() have read
  std::size_t line_read_ = 0;  // of these bytes, so many were given out
  std::vector<char> compressed_;
  std::unique_ptr<Inflate> inflate_;  // null for a plain file
  bool marked_ = false;               // looked at the text's first bytes for a byte order mark, or never to
  std::uint64_t mark_bytes_ = 0;      // of the mark of UTF-8 that was found
  std::string waiting_;               // text that is read already: no mark, or what UTF-16 became
  std::size_t waiting_read_ = 0;
  std::optional<Utf16Decoder> utf16_;
};

/// A way of compressing files.
struct Compression {
  std::string_view name;     ///< "gzip"
  std::string_view magic;    ///< the first bytes of such a file
  std::string_view command;  ///< what decompresses a file whose name follows; empty for gzip
};

/// The compression of a file that begins with `head`; nothing for any other file.
std::optional<Compression> compression_of(std::string_view head);

/// Whether `head` is too short to know: more bytes could make it the beginning of a compressed file.
bool may_become_compressed(std::string_view head);

}  // namespace weft::readers
