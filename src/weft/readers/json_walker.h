// SPDX-License-Identifier: Apache-2.0
// Walks the outer brackets of a JSON file byte by byte, so that memory holds one element of a list that does not fit
// it. What stands inside an element goes whole to the parser of formats/.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "weft/formats/config_json.h"
#include "weft/readers/reader.h"
#include "weft/readers/text_source.h"

namespace weft::readers {

/// Broken JSON is a kFormat error that ends the reading, whatever `on_error` says: behind it nobody knows where a
/// record begins.
class JsonWalker {
 public:
  /// `format` is what the file should be, for messages.
  JsonWalker(const std::filesystem::path& path, const ReadOptions& options, std::string format)
      : JsonWalker(ByteSource(path), options, std::move(format)) {}
  JsonWalker(ByteSource bytes, const ReadOptions& options, std::string format);

  /// The first byte that is no blank, or TextSource::kEnd; a record begins there.
  int begin();

  /// Takes the opening bracket, '{' or '['.
  void enter(char bracket);

  /// Inside of brackets: whether another element follows. Where none does, the closing bracket is taken.
  bool more(char close);

  /// The name of an object's next element, with its colon.
  std::string key();

  /// The next value, parsed.
  formats::Json value();

  /// The next value's bytes, unchecked but for strings and brackets.
  std::string raw_value();

  /// Whether nothing but blanks is left.
  bool at_end();

  [[noreturn]] void broken(std::string_view what) const;

  const TextSource& source() const { return source_; }

 private:
  int next_visible();
  void expect(char byte);
  void raw_string(std::string& text);
  bool ends_value();
  char take(std::string_view inside);

  TextSource source_;
  std::string format_;
  bool fresh_ = true;  // inside of a bracket that was just opened
};

}  // namespace weft::readers
