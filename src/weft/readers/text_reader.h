// SPDX-License-Identifier: Apache-2.0
// Text files as documents: each file one, or each line one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/readers/reader.h"
#include "weft/readers/text_source.h"

namespace weft::readers {

/// UTF-8 text and the line that it begins in.
struct TextDocument {
  std::string text;
  std::int64_t line = 1;
};

/// What one document is.
enum class TextUnit { kFile, kLine };

/// A file (plain or gzip) as documents. An empty file, and an empty line, is no document. Malformed: text that is not
/// UTF-8.
class TextReader final : public Reader<TextDocument> {
 public:
  TextReader(const std::filesystem::path& path, TextUnit unit, const ReadOptions& options = {});

 protected:
  bool read(TextDocument& document) override;

 private:
  TextSource source_;
  TextUnit unit_;
};

}  // namespace weft::readers
