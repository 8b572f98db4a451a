// SPDX-License-Identifier: Apache-2.0
// Tables as text: comma-separated values by RFC 4180, and tab-separated ones, which know no quotes (IANA's
// text/tab-separated-values) unless they are asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/readers/reader.h"
#include "weft/readers/text_source.h"

namespace weft::readers {

/// The form of a table.
struct TableOptions {
  char separator = ',';
  bool quotes = true;  ///< a field that begins with " ends with ", may hold separators and line ends, and "" in it is "
  bool header = true;  ///< the first row names the columns

  /// Tabs without quotes for names that end in .tsv or .tab (before .gz, in any case), else commas with quotes.
  static TableOptions of(const std::filesystem::path& path);
  /// The form of the format "csv" or "tsv".
  static TableOptions of_format(const std::string& format, bool header);
};

/// As many fields as the table has columns, and the line that the row begins in.
struct TableRow {
  std::vector<std::string> fields;
  std::int64_t line = 0;
};

/// Rows of a file (plain or gzip); empty lines are left out. Malformed: another number of fields than the first row
/// has, text behind a closing quote, a quote that is never closed, and what is not UTF-8.
class TableReader final : public Reader<TableRow> {
 public:
  /// Errors: as TextSource; kFormat for a header that is malformed or missing.
  TableReader(const std::filesystem::path& path, const TableOptions& table, const ReadOptions& options = {});
  TableReader(ByteSource bytes, const TableOptions& table, const ReadOptions& options = {});

  /// The header's names; "1", "2", ... without a header, known once a row was read.
  const std::vector<std::string>& columns() const noexcept { return columns_; }
  /// The place of a column. Errors: kArgument that lists the columns there are.
  std::size_t column(std::string_view name) const;

 protected:
  bool read(TableRow& row) override;

 private:
  bool read_fields(TableRow& row);
  std::string read_field();
  std::string read_quoted();
  bool at_end_of_row();
  void skip_rest();

  TextSource source_;
  TableOptions table_;
  std::vector<std::string> columns_;
};

}  // namespace weft::readers
