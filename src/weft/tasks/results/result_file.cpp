// SPDX-License-Identifier: Apache-2.0
// Comma-separated values are quoted by RFC 4180; tab-separated ones know no quotes, so that some text cannot be
// written.
#include "weft/tasks/results/result_file.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/readers/input/file_kind.h"

namespace weft::tasks {
namespace {

using formats::Json;

char separator_of(const std::string& path) {
  const std::string ending = readers::small_ending(path, false);
  if (ending == ".csv") {
    return ',';
  }
  if (ending == ".tsv") {
    return '\t';
  }
  if (ending != ".jsonl") {
    fail(ErrorKind::kArgument, option("out"), " must end in .jsonl, .csv or .tsv, found ", quote(path, 4096));
  }
  return '\0';
}

// Bytes that are no UTF-8 become U+FFFD, as where results are printed.
std::string json_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string cell_of(const Json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  return value.is_null() ? std::string() : json_text(value);
}

std::string quoted_cell(const std::string& cell) {
  if (cell.find_first_of("\",\r\n") == std::string::npos) {
    return cell;
  }
  std::string quoted = "\"";
  for (const char byte : cell) {
    quoted += byte == '"' ? std::string("\"\"") : std::string(1, byte);
  }
  return quoted + '"';
}

Json record_of(const Document& document) {
  if (!document.fields.is_null()) {
    return document.fields;
  }
  Json record = {{"text", document.first}};
  if (document.second) {
    record["second_text"] = *document.second;
  }
  return record;
}

std::vector<std::string> column_names(const Json& record) {
  std::vector<std::string> names;
  for (const auto& [name, value] : record.items()) {
    names.push_back(name);
  }
  return names;
}

}  // namespace

void check_result_path(const std::string& path) { separator_of(path); }

ResultFile::ResultFile(const std::string& path, bool with_errors)
    : path_(path), separator_(separator_of(path)), with_errors_(with_errors), file_(path) {}

void ResultFile::write_row(const std::string& where, const std::vector<std::string>& cells) {
  const auto cell = [&](const std::string& text) {
    if (separator_ == ',') {
      return quoted_cell(text);
    }
    if (text.find_first_of("\t\r\n") != std::string::npos) {
      throw Error(
          ErrorKind::kFormat,
          concat(where, ": a field of ", quote(path_, 4096), " cannot hold a tab or a line end, found ", quote(text)),
          concat("write ", option("out"), " FILE.csv or FILE.jsonl, which can"));
    }
    return text;
  };
  file_.write(joined(cells, std::string(1, separator_), cell) + "\n");
}

// The columns of the first record that has a result, and before it the records that had errors.
void ResultFile::write_header(const std::string& where, const std::vector<std::string>& names) {
  if (columns_.empty()) {
    columns_ = names;
    write_row(where, columns_);
    write_waiting();
  }
}

void ResultFile::write_waiting() {
  for (const Json& record : waiting_) {
    std::vector<std::string> cells;
    cells.reserve(columns_.size());
    for (const std::string& column : columns_) {
      const auto found = record.find(column);
      cells.push_back(found == record.end() ? std::string() : cell_of(*found));
    }
    write_row("a record with an error", cells);
  }
  waiting_.clear();
}

void ResultFile::write_record(const std::string& where, const Json& record) {
  if (separator_ == '\0') {
    file_.write(json_text(record) + "\n");
    return;
  }
  const std::vector<std::string> names = column_names(record);
  write_header(where, names);
  if (names != columns_) {
    throw Error(ErrorKind::kFormat,
                concat(where, ": the columns of ", quote(path_, 4096), " are ", quoted_list(columns_, 12),
                       ", and this record has ", quoted_list(names, 12)),
                concat("write ", option("out"), " FILE.jsonl, where records may differ"));
  }
  std::vector<std::string> cells;
  cells.reserve(names.size());
  for (const Json& value : record) {
    cells.push_back(cell_of(value));
  }
  write_row(where, cells);
}

void ResultFile::add(const Document& document, const Json& result) {
  Json record = record_of(document);
  for (const auto& [name, value] : result.items()) {
    if (!record.emplace(name, Json(value)).second) {
      throw Error(
          ErrorKind::kFormat,
          concat(document.name, ": the record has a field ", quote(name), ", which is the name of a result too"),
          "rename the field");
    }
  }
  if (with_errors_ && separator_ != '\0') {
    record["error"] = "";
  }
  write_record(document.name, record);
  ++rows_;
}

void ResultFile::add_error(const Document& document, const std::string& message) {
  Json record = document.fields.is_null() && document.first.empty() ? Json::object() : record_of(document);
  record["error"] = message;
  ++rows_;
  if (separator_ == '\0') {
    file_.write(json_text(record) + "\n");
    return;
  }
  waiting_.push_back(std::move(record));
  if (!columns_.empty()) {
    write_waiting();
  }
}

void ResultFile::commit() {
  if (!waiting_.empty()) {
    write_header("a record with an error", column_names(waiting_.front()));
  }
  file_.commit();
}

Json fields_beside_texts(const Document& document) {
  if (!document.fields.is_object()) {
    return nullptr;
  }
  Json others = Json::object();
  for (const auto& [name, value] : document.fields.items()) {
    if (std::find(document.names_of_texts.begin(), document.names_of_texts.end(), name) ==
        document.names_of_texts.end()) {
      others.get_ref<Json::object_t&>().emplace_back(name, value);  // no second look for an equal name
    }
  }
  return others.empty() ? Json(nullptr) : others;
}

}  // namespace weft::tasks
