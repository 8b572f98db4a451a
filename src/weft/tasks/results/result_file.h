// SPDX-License-Identifier: Apache-2.0
// Results in a file: the records that were read, each with the columns of its result behind its own. A table or JSON
// lines in, a table or JSON lines out, in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/tasks/documents.h"

namespace weft::tasks {

/// JSON lines, comma-separated or tab-separated values, by the ending of the path in small or capital letters: .jsonl,
/// .csv, .tsv. A document that is no record has its text in the column "text", and a second one in "second_text".
class ResultFile {
 public:
  /// `with_errors`: records may have errors, so a table has a column "error" behind all others. Errors: kArgument for
  /// another ending; as AtomicFile.
  explicit ResultFile(const std::string& path, bool with_errors = false);

  /// Appends `document` with `result`, an object of names and values, behind its own fields. A table has text as it is,
  /// nothing for null, and JSON for every other value; its columns are those of the first record. Errors: kFormat
  /// naming the document where a field has the name of a column of the result, where a table's columns differ, and
  /// where a tab or line end is to be written as tab-separated values.
  void add(const Document& document, const formats::Json& result);
  /// Appends `document` with an error in place of a result: in JSON lines behind its own fields, in a table in the
  /// column "error", with nothing in the columns of the result. In a table it waits for the first result, which names
  /// the columns.
  void add_error(const Document& document, const std::string& message);
  /// The file appears under its name.
  void commit();

  std::int64_t rows() const noexcept { return rows_; }
  const std::string& path() const noexcept { return path_; }

 private:
  void write_row(const std::string& where, const std::vector<std::string>& cells);
  void write_record(const std::string& where, const formats::Json& record);
  void write_header(const std::string& where, const std::vector<std::string>& names);
  void write_waiting();

  std::string path_;
  char separator_;  // 0: JSON lines
  bool with_errors_;
  AtomicFile file_;
  std::vector<std::string> columns_;
  std::vector<formats::Json> waiting_;  // records with errors before the first result
  std::int64_t rows_ = 0;
};

/// Whether a ResultFile can have this path, before long work. Errors: kArgument.
void check_result_path(const std::string& path);

/// `fields` without those that are the texts: what a line of JSON says about where its text came from. Null where
/// nothing is left.
formats::Json fields_beside_texts(const Document& document);

}  // namespace weft::tasks
