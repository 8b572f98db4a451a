// SPDX-License-Identifier: Apache-2.0
// A log of JSON objects, one a line, that survives kill -9: every line is one write, and a torn last line is cut when
// the log is next opened. A resumed run takes it back to its checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "weft/core/descriptor.h"
#include "weft/formats/config_json.h"

namespace weft::formats {

/// What a whole line that is no JSON object does.
enum class BrokenLines {
  kRefuse,  ///< a kFormat error that names it
  kSkip,    ///< it is left out; reading warns once a file, and says how many there are and which is the first
};

/// Appends to one log; knows where its last whole line ends.
class JsonLinesWriter {
 public:
  /// Opens or makes the file; a last line without its end is cut off.
  explicit JsonLinesWriter(const std::filesystem::path& path);

  /// Appends `value` as one line by one write. When that fails (kIo), the file ends with the line before.
  void append(const Json& value);
  /// Cuts the file behind its last line whose integer "step" is at most `step`; lines without a "step" after that one
  /// go too, and so do broken ones that are skipped. Steps must not fall from line to line. Returns how many lines
  /// went. Errors: kFormat for a line that is no JSON object, unless these are skipped.
  std::int64_t truncate_after_step(std::int64_t step, BrokenLines broken = BrokenLines::kRefuse);
  /// fsync.
  void sync() { file_.sync(); }

 private:
  Descriptor file_;
  std::uint64_t size_ = 0;
};

/// The whole lines of the file, parsed; a torn last line is left out. Errors: kIo, kFormat with the line's number.
std::vector<Json> read_json_lines(const FilePlace& file, BrokenLines broken = BrokenLines::kRefuse);

}  // namespace weft::formats
