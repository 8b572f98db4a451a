// SPDX-License-Identifier: Apache-2.0
// A table's columns are its header; the fields of objects are known once many were read.
#include "weft/readers/input/columns.h"

#include <algorithm>
#include <functional>
#include <set>

#include "weft/readers/json_document_reader.h"
#include "weft/readers/table_reader.h"

namespace weft::readers {
namespace {

char small(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

bool differs_in_capitals_alone(std::string_view first, std::string_view second) {
  return std::ranges::equal(first, second, {}, small, small);
}

template <typename IsLike>
std::string first_like(const std::vector<std::string>& columns, std::span<const std::string_view> usual,
                       const IsLike& is_like) {
  for (const std::string_view name : usual) {
    const auto found = std::ranges::find_if(columns, [&](const std::string& column) { return is_like(column, name); });
    if (found != columns.end()) {
      return *found;
    }
  }
  return {};
}

}  // namespace

std::string usual_column(const std::vector<std::string>& columns, std::span<const std::string_view> usual) {
  const std::string same = first_like(columns, usual, std::equal_to<>());
  return same.empty() ? first_like(columns, usual, differs_in_capitals_alone) : same;
}

std::string usual_field(const formats::Json& record, std::span<const std::string_view> usual) {
  for (const std::string_view name : usual) {
    if (std::string same(name); record.contains(same)) {
      return same;
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : record.items()) {
    names.push_back(name);
  }
  return usual_column(names, usual);
}

std::vector<std::string> columns_of(const std::filesystem::path& file, const std::string& format) {
  constexpr std::size_t kMostColumns = 256;
  constexpr int kObjects = 1000;
  if (format == "csv" || format == "tsv") {
    std::vector<std::string> columns = TableReader(file, TableOptions::of("table." + format)).columns();
    columns.resize(std::min(columns.size(), kMostColumns));
    return columns;
  }
  std::vector<std::string> columns;
  if (format != "jsonl" && format != "json") {
    return columns;
  }
  const auto reader = open_json_records(ByteSource(file), format, {.skip_malformed = true});
  std::set<std::string> seen;
  JsonRecord record;
  for (int i = 0; i < kObjects && columns.size() < kMostColumns && reader->next(record); ++i) {
    for (const auto& [name, value] : record.object.items()) {
      if (columns.size() < kMostColumns && seen.insert(name).second) {
        columns.push_back(name);
      }
    }
  }
  return columns;
}

}  // namespace weft::readers
