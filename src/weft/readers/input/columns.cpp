// SPDX-License-Identifier: Apache-2.0
// A table's columns are its header; the fields of objects are known once many were read.
#include "weft/readers/input/columns.h"

#include <set>

#include "weft/readers/json_document_reader.h"
#include "weft/readers/table_reader.h"

namespace weft::readers {

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
