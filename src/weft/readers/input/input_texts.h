// SPDX-License-Identifier: Apache-2.0
// Texts that a trained model is to read, out of a file, a pipe or standard input: a text a line, the texts of JSON
// lines, tables and FASTA, or the whole as one document. The kind of records is told by the name or by how the file
// begins.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// A text, or two, where it begins ("'file' line 3"), and the record that it comes from.
struct InputText {
  std::string first;
  std::optional<std::string> second;
  std::string where;
  formats::Json fields = nullptr;                ///< all fields of the record by name, in their order; null for a line
  std::vector<std::string> names_of_texts = {};  ///< which of these the texts are; a sequence of FASTA is none
};

/// Makes two texts of the first, with a tab between them. Errors: kFormat naming `where` for none or several tabs.
void split_pair(InputText& text);

/// How the bytes are understood.
struct InputTextOptions {
  std::string format = "auto";  ///< auto, lines, jsonl, csv, tsv, fasta
  bool pairs = false;           ///< a record is two texts: a line has them with a tab between
  std::string text_field;       ///< column or JSON field of the text; empty: one of kTextFields
  std::string pair_field;       ///< column or JSON field of the second text
  bool keep_fields = false;     ///< fill InputText::fields, for a caller that writes records again
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

/// The columns and JSON fields that hold the text of a record where nobody names another, most usual first.
inline constexpr std::array<std::string_view, 5> kTextFields = {"text", "sentence", "sequence", "review", "content"};

/// The format that a file's name says: csv, tsv, jsonl, conll, fasta, text; empty for every other name. ".gz" is looked
/// through.
std::string format_of_name(const std::filesystem::path& file);

/// The format that a file's first line says: jsonl when it begins with '{', fasta when it begins with '>' and a name;
/// empty for every other line.
std::string format_of_line(std::string_view line);

/// The format of a regular file for a program that must not guess wrong about a malformed one: what the name says; for
/// a name that says nothing what the first line says; .json is SQuAD's unless its first line is a record by itself;
/// else text. Errors: as ByteSource.
std::string format_of_file(const std::filesystem::path& file);

/// All bytes of a source. Errors: as ByteSource; kFormat when there are more than `maximum_bytes`.
std::string read_whole_text(ByteSource source, std::uint64_t maximum_bytes = ReadOptions().max_record_bytes);

}  // namespace weft::readers
