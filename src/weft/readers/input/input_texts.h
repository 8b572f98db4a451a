// SPDX-License-Identifier: Apache-2.0
// Texts that a trained model is to read, out of a file, a pipe or standard input: a text a line, the texts of JSON,
// tables, FASTA, sentences in columns and SQuAD, or the whole as one document. What the file is, file_kind.h decides.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// A text, or two, where it begins ("'file' line 3"), and the record that it comes from.
struct InputText {
  std::string first;
  std::optional<std::string> second;
  std::string where;
  formats::Json fields = nullptr;                ///< all fields of the record by name, in their order; null for a line
  std::vector<std::string> names_of_texts = {};  ///< which of these the texts are; a sequence of FASTA is none
  std::string id = {};  ///< of a record that has one of kRecordIdFields, a string or a whole number
};

/// Makes two texts of the first, with a tab between them. Errors: MalformedRecord naming `where` for none or several
/// tabs, with this hint.
void split_pair(InputText& text, const std::string& hint = {});

/// How a flag may name what a file of texts is; "auto" leaves it to decide_kind().
inline constexpr std::array<std::string_view, 9> kInputFormats = {"auto", "lines", "jsonl", "json", "csv",
                                                                  "tsv",  "fasta", "conll", "squad"};

/// How the bytes are understood.
struct InputTextOptions {
  std::string format = "auto";  ///< one of kInputFormats, or "objects": json or jsonl, whichever it is, and no table
  bool pairs = false;           ///< a record is two texts: a line has them with a tab between
  std::string text_field;       ///< column or JSON field of the text; empty: one of `usual_texts`
  std::string pair_field;       ///< column or JSON field of the second text; empty: one of `usual_pairs`
  bool header = true;           ///< a table's first row names its columns; else they are 1, 2, ...
  bool keep_fields = false;     ///< fill InputText::fields, for a caller that writes records again
  bool keep_ids = false;        ///< fill InputText::id, for a caller that compares files
  std::span<const std::string_view> usual_texts = kTextFields;  ///< found in any capitals; not empty
  std::span<const std::string_view> usual_pairs = {};           ///< the same of the second text; empty: one is named
};

/// Texts one after another. `auto` is what decide_kind() says, and is said on stderr where the name does not say it. A
/// table without a column of the text, and what only begins like a record, are lines, which is said too. So are two
/// texts in each row of a table without a known column, unless a field is named. Lines are
/// bytes, empty ones are texts too; the other formats are as their readers have them. The text of a sentence in columns
/// is its words with blanks between, that of SQuAD's questions is "context" and the second one "question".
class InputTexts {
 public:
  /// Errors: as decide_kind(); kFormat for a table without a header; kArgument for a column that is not there, for a
  /// field of lines, and for two texts in records where no field of the second one is known.
  InputTexts(ByteSource bytes, const InputTextOptions& options);

  /// The next text, or false behind the last. Errors: MalformedRecord that names file and line, for a malformed record,
  /// a line of a pair without its tab, and a record without its field; the next call goes on behind it. kFormat for
  /// a record longer than ReadOptions allow, and for JSON whose brackets are broken.
  bool next(InputText& text) { return next_(text); }

 private:
  std::function<bool(InputText&)> next_;
};

/// All bytes of a source. Errors: as ByteSource and refuse_no_text(); kFormat when there are more than `maximum_bytes`.
std::string read_whole_text(ByteSource source, std::uint64_t maximum_bytes = ReadOptions().max_record_bytes);

}  // namespace weft::readers
