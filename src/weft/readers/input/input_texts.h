// SPDX-License-Identifier: Apache-2.0
// Texts that a trained model is to read, out of a file, a pipe or standard input: a text a line, or the texts of JSON
// lines, tables and FASTA. A header or a brace is no text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "weft/readers/byte_source.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// A text, or two, and where it begins: "'file' line 3".
struct InputText {
  std::string first;
  std::optional<std::string> second;
  std::string where;
};

/// Makes two texts of the first, with a tab between them. Errors: kFormat naming `where` for none or several tabs.
void split_pair(InputText& text);

/// How the bytes are understood.
struct InputTextOptions {
  std::string format = "auto";  ///< auto, lines, jsonl, csv, tsv, fasta
  bool pairs = false;           ///< a record is two texts: a line has them with a tab between
  std::string text_field;       ///< column or JSON field of the text; empty: one of kTextFields
  std::string pair_field;       ///< column or JSON field of the second text
};

/// Texts one after another. `auto` goes by the name of the file, then by its first line, and says on stderr what it
/// takes the bytes for where only the first line said so. Lines are bytes, empty ones are texts too; the other formats
/// are as their readers have them.
class InputTexts {
 public:
  /// Errors: as ByteSource; kFormat for a table without a header; kArgument for a column that is not there.
  InputTexts(ByteSource bytes, const InputTextOptions& options);

  /// The next text, or false behind the last. Errors: kFormat that names file and line, for a malformed record, one
  /// longer than ReadOptions allow, a line of a pair without its tab, and a record without its field.
  bool next(InputText& text) { return next_(text); }

 private:
  std::function<bool(InputText&)> next_;
};

}  // namespace weft::readers
