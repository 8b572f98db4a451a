// SPDX-License-Identifier: Apache-2.0
// Lines are joined again for a whole file, so that a limit on its length and the count of lines hold alike.
#include "weft/readers/text_reader.h"

namespace weft::readers {

TextReader::TextReader(const std::filesystem::path& path, TextUnit unit, const ReadOptions& options)
    : Reader(options), source_(path, options), unit_(unit) {}

bool TextReader::read(TextDocument& document) {
  document = {};
  if (unit_ == TextUnit::kFile) {
    for (int byte = source_.get(); byte != TextSource::kEnd; byte = source_.get()) {
      document.text.push_back(static_cast<char>(byte));
    }
  } else {
    while (document.text.empty()) {
      source_.begin_record();
      if (!source_.next_line(document.text)) {
        return false;
      }
    }
    document.line = source_.line();
  }
  check_utf8(document.text, source_.where(document.line));
  return !document.text.empty();
}

}  // namespace weft::readers
