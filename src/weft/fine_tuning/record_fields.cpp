// SPDX-License-Identifier: Apache-2.0
// Names of columns, and what stands in them.
#include "weft/fine_tuning/record_fields.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/reader.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

std::string listed(const std::vector<std::string>& names) { return quoted_list(names, 12); }

std::size_t column_called(const std::vector<std::string>& columns, const std::string& name, std::string_view field,
                          const std::string& file) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  require(found != columns.end(), file, ": ", field, " ", Quoted(name), " is not a column; the columns are ",
          [&] { return listed(columns); });
  readers::refuse_same_name(columns, name, file);
  return static_cast<std::size_t>(found - columns.begin());
}

template <typename Names>
std::size_t usual_column(const std::vector<std::string>& columns, const Names& names, const char* field,
                         const std::string& file) {
  if (const std::string name = readers::usual_column(columns, names); !name.empty()) {
    readers::refuse_same_name(columns, name, file);
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  }
  fail(ErrorKind::kArgument, file, ": no column has a name that Weft looks for; name one of the columns with ", field,
       ": ", listed(columns));
}

// Columns that one of the patterns names, in the table's order.
std::vector<std::size_t> columns_like(const std::vector<std::string>& columns, const std::vector<std::string>& patterns,
                                      const std::string& file) {
  std::vector<std::size_t> found;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const bool named = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return ::fnmatch(pattern.c_str(), columns[column].c_str(), 0) == 0;
    });
    if (named) {
      found.push_back(column);
    }
  }
  require(
      !found.empty(), file, ": no column is called as ", option("label_field"), " says, ",
      [&] { return listed(patterns); }, " (capitals count); the columns are ", [&] { return listed(columns); });
  return found;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  const std::size_t end = text.find_last_not_of(' ');
  return begin == std::string_view::npos ? std::string() : std::string(text.substr(begin, end - begin + 1));
}

void split_names(std::string_view text, std::vector<std::string>& names) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (std::string name = trimmed(text.substr(0, comma)); !name.empty()) {
      names.push_back(std::move(name));
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

void take_flag(std::string_view value, const std::string& name, const std::string& place, TextRecord& record) {
  if (value != "0" && value != "1") {
    readers::malformed(place, ": label ", quote(name), " must be 0 or 1, found ", quote(value));
  }
  (value == "1" ? record.labels : record.absent).push_back(name);
}

// A label as JSON has it, as its name.
std::string label_name(const Json& value, const std::string& place) {
  if (value.is_string() && !value.get<std::string>().empty()) {
    return value.get<std::string>();
  }
  if (!value.is_number() && !value.is_boolean()) {
    readers::malformed(place, ": a label must be a string, a number or a truth value, found ", value.type_name());
  }
  return value.dump();
}

void take_list(const Json& list, const std::string& place, TextRecord& record) {
  const bool flags =
      !list.empty() && std::all_of(list.begin(), list.end(), [](const Json& v) { return v.is_number(); });
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (flags) {
      take_flag(list[i].dump(), std::to_string(i), place, record);
    } else {
      record.labels.push_back(label_name(list[i], place));
    }
  }
}

}  // namespace

std::string first_stem(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find('.'));
}

bool is_id_field(std::string_view name) {
  return name.size() == 2 && (name[0] == 'i' || name[0] == 'I') && (name[1] == 'd' || name[1] == 'D');
}

TableColumns find_columns(const std::vector<std::string>& columns, const DataSettings& settings, LabelCount count,
                          bool with_labels, const std::string& file) {
  TableColumns found;
  found.text = settings.text_field.empty() ? usual_column(columns, readers::kTextFields, "text_field", file)
                                           : column_called(columns, settings.text_field, "text_field", file);
  if (!settings.pair_field.empty()) {
    found.pair = column_called(columns, settings.pair_field, "pair_field", file);
  }
  if (with_labels) {
    found.labels = settings.label_field.empty()
                       ? std::vector<std::size_t>{usual_column(columns, readers::kLabelFields, "label_field", file)}
                       : columns_like(columns, settings.label_field, file);
    require(count == LabelCount::kSeveral || found.labels.size() == 1, file, ": this task has one label a record, but ",
            "label_field names ", found.labels.size(), " columns; ", option("task"), " multilabel learns several");
  }
  for (std::size_t column = 0; column < columns.size() && !found.id; ++column) {
    const bool is_read = column == found.text || column == found.pair ||
                         std::find(found.labels.begin(), found.labels.end(), column) != found.labels.end();
    if (!is_read && is_id_field(columns[column])) {
      found.id = column;
    }
  }
  return found;
}

std::string json_text_field(const Json& object, const DataSettings& settings, const std::string& place) {
  if (!settings.text_field.empty()) {
    return settings.text_field;
  }
  std::string field = readers::usual_field(object, readers::kTextFields);
  if (field.empty()) {
    readers::malformed(place, ": no field is called text, sentence, sequence, review or content; name the field with ",
                       option("text_field"));
  }
  return field;
}

void take_labels(const std::vector<std::string>& row, const std::vector<std::string>& names,
                 const TableColumns& columns, const LabelPlace& where, TextRecord& record) {
  if (columns.labels.size() > 1) {
    for (const std::size_t column : columns.labels) {
      take_flag(row[column], names[column], where.place, record);
    }
    return;
  }
  const std::string& value = row[columns.labels.front()];
  if (where.count == LabelCount::kSeveral) {
    split_names(value, record.labels);
    return;
  }
  if (value.empty()) {
    readers::malformed(where.place, ": the label is empty");
  }
  record.labels = {value};
}

void take_json_labels(const Json& object, const DataSettings& settings, const LabelPlace& where, TextRecord& record) {
  const std::string field =
      settings.label_field.empty() ? readers::usual_field(object, readers::kLabelFields) : settings.label_field.front();
  const auto value = field.empty() ? object.end() : object.find(field);
  if (value == object.end()) {
    readers::malformed(where.place, ": there is no field ",
                       settings.label_field.empty() ? "label" : quote(settings.label_field.front()));
  }
  if (where.count == LabelCount::kSeveral && value->is_array()) {
    take_list(*value, where.place, record);
  } else {
    record.labels = {label_name(*value, where.place)};
  }
}

}  // namespace weft::fine_tuning
