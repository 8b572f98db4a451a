// SPDX-License-Identifier: Apache-2.0
// A file as characters and lines that know where they stand, for readers of records. A record may not grow beyond a
// limit, so that a file that is one line of 100 GB is an error and not the end of the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/readers/byte_source.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// Reads forward; lines end with LF or CR LF, the last one also with the file.
class TextSource {
 public:
  static constexpr int kEnd = -1;

  /// A regular file. Errors: as ByteSource.
  TextSource(const std::filesystem::path& path, const ReadOptions& options);
  /// Any stream of bytes, from where it is.
  TextSource(ByteSource bytes, const ReadOptions& options);

  /// The next byte, 0 to 255, or kEnd. Errors: kFormat when the record is longer than options.max_record_bytes.
  int get();
  /// The byte that get() would give.
  int peek();
  /// The next line without its end; false at the end of the file.
  bool next_line(std::string& line);
  /// Bytes count for a new record from here on.
  void begin_record() noexcept { record_begin_ = offset(); }

  /// The line that the last byte read stands in, from 1.
  std::int64_t line() const noexcept { return line_; }
  /// The line that the next byte stands in.
  std::int64_t next_line_number() const noexcept { return line_ + (line_ended_ ? 1 : 0); }
  /// Bytes read so far.
  std::uint64_t offset() const noexcept { return buffer_offset_ + position_; }
  const std::filesystem::path& path() const noexcept { return bytes_.path(); }
  /// "'path' line N", or "standard input line N".
  std::string where(std::int64_t line) const;
  std::string where() const { return where(line_); }

 private:
  bool fill();
  void check_length() const;

  ByteSource bytes_;
  ReadOptions options_;
  std::vector<char> buffer_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t buffer_offset_ = 0;
  std::uint64_t record_begin_ = 0;
  std::int64_t line_ = 1;
  bool line_ended_ = false;  // the last byte was a line's end: the next one begins another
};

/// Throws MalformedRecord unless `text` is UTF-8.
void check_utf8(std::string_view text, const std::string& where);

}  // namespace weft::readers
