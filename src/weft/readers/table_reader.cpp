// SPDX-License-Identifier: Apache-2.0
// Byte by byte, since a quoted field may hold line ends.
#include "weft/readers/table_reader.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/input/file_kind.h"

namespace weft::readers {

TableOptions TableOptions::of(const std::filesystem::path& path) {
  const bool tabs = format_of_name(path) == "tsv";
  return {tabs ? '\t' : ',', !tabs, true};
}

TableOptions TableOptions::of_format(const std::string& format, bool header) {
  TableOptions table = of("table." + format);
  table.header = header;
  return table;
}

TableReader::TableReader(const std::filesystem::path& path, const TableOptions& table, const ReadOptions& options)
    : TableReader(ByteSource(path), table, options) {}

TableReader::TableReader(ByteSource bytes, const TableOptions& table, const ReadOptions& options)
    : Reader(options), source_(std::move(bytes), options), table_(table) {
  if (!table_.header) {
    return;
  }
  TableRow header;
  bool found = false;
  try {
    found = read_fields(header);
  } catch (const MalformedRecord& error) {
    // No row like another: without its names the table means nothing.
    fail(ErrorKind::kFormat, error.what());
  }
  if (!found) {
    fail(ErrorKind::kFormat, source_.where(), ": a table begins with the names of its columns, found an empty file");
  }
  columns_ = std::move(header.fields);
}

std::size_t TableReader::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  require(found != columns_.end(), Quoted(source_.path().native(), 4096), " has no column ", Quoted(name), "; it has ",
          [&] { return joined(columns_, ", ", [](const std::string& column) { return quote(column); }); });
  refuse_same_name(columns_, name, quote(source_.path().native(), 4096));
  return static_cast<std::size_t>(found - columns_.begin());
}

bool TableReader::at_end_of_row() {
  const int next = source_.peek();
  return next == TextSource::kEnd || next == '\n';
}

void TableReader::skip_rest() {
  while (!at_end_of_row()) {
    source_.get();
  }
  source_.get();
}

// Behind an opening quote.
std::string TableReader::read_quoted() {
  const std::int64_t begin = source_.line();
  std::string field;
  for (int byte = source_.get(); byte != TextSource::kEnd; byte = source_.get()) {
    if (byte != '"') {
      field.push_back(static_cast<char>(byte));
    } else if (source_.peek() == '"') {
      field.push_back(static_cast<char>(source_.get()));
    } else {
      if (source_.peek() == '\r') {
        source_.get();
      }
      if (!at_end_of_row() && source_.peek() != table_.separator) {
        skip_rest();
        malformed(source_.where(begin), ": a quoted field must end its field, found text behind the closing quote");
      }
      return field;
    }
  }
  malformed(source_.where(begin), ": a quoted field begins here and has no end");
}

std::string TableReader::read_field() {
  if (table_.quotes && source_.peek() == '"') {
    source_.get();
    return read_quoted();
  }
  std::string field;
  while (!at_end_of_row() && source_.peek() != static_cast<unsigned char>(table_.separator)) {
    field.push_back(static_cast<char>(source_.get()));
  }
  if (at_end_of_row() && field.ends_with('\r')) {
    field.pop_back();
  }
  return field;
}

bool TableReader::read_fields(TableRow& row) {
  row.fields.clear();
  while (row.fields.empty()) {
    source_.begin_record();
    if (source_.peek() == TextSource::kEnd) {
      return false;
    }
    row.line = source_.next_line_number();
    row.fields.push_back(read_field());
    while (!at_end_of_row()) {
      source_.get();  // the separator
      row.fields.push_back(read_field());
    }
    source_.get();
    if (row.fields.size() == 1 && row.fields.front().empty()) {
      row.fields.clear();
    }
  }
  for (const std::string& field : row.fields) {
    check_utf8(field, source_.where(row.line));
  }
  return true;
}

bool TableReader::read(TableRow& row) {
  if (!read_fields(row)) {
    return false;
  }
  for (std::size_t i = columns_.size(); !table_.header && report().records == 0 && i < row.fields.size(); ++i) {
    columns_.push_back(std::to_string(i + 1));
  }
  if (row.fields.size() != columns_.size()) {
    malformed(source_.where(row.line), ": a row must have ", columns_.size(), " fields, found ", row.fields.size());
  }
  return true;
}

}  // namespace weft::readers
