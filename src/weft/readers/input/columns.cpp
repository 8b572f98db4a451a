// SPDX-License-Identifier: Apache-2.0
// A table's columns are its header; the fields of objects are known once many were read.
#include "weft/readers/input/columns.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/text/small_letters.h"
#include "weft/readers/json_document_reader.h"
#include "weft/readers/table_reader.h"

namespace weft::readers {
namespace {

template <typename Names, typename Letters>
std::string first_of(Names& names, std::span<const std::string_view> usual, const Letters& letters) {
  for (const std::string_view name : usual) {
    const auto is_like = [&, like = letters(std::string(name))](const std::string& one) {
      return letters(one) == like;
    };
    if (const auto found = std::ranges::find_if(names, is_like); found != std::ranges::end(names)) {
      return *found;
    }
  }
  return {};
}

template <typename Names>
std::string usual_name(Names& names, std::span<const std::string_view> usual) {
  const std::string same = first_of(names, usual, std::identity());
  return same.empty() ? first_of(names, usual, small_letters) : same;
}

}  // namespace

std::string usual_column(const std::vector<std::string>& columns, std::span<const std::string_view> usual) {
  return usual_name(columns, usual);
}

void refuse_same_name(const std::vector<std::string>& columns, std::string_view name, std::string_view file) {
  if (!name.empty() && std::count(columns.begin(), columns.end(), name) > 1) {
    throw Error(ErrorKind::kFormat,
                concat(file, ": two columns have the name ", quote(name), ", so that it says neither of them"),
                "give each column a name of its own");
  }
}

std::string usual_field(const formats::Json& record, std::span<const std::string_view> usual, std::string_view taken) {
  const auto is_free = [taken](const std::string& name) { return name != taken; };
  auto names = record.get_ref<const formats::Json::object_t&>() | std::views::keys | std::views::filter(is_free);
  return usual_name(names, usual);
}

std::string known_field(const formats::Json& record, std::string_view name) {
  const std::string found = record.is_object() ? usual_field(record, {&name, 1}) : std::string();
  return found.empty() ? std::string(name) : found;
}

std::vector<std::string> columns_of(const std::filesystem::path& file, const std::string& format, bool header) {
  constexpr std::size_t kMostColumns = 256;
  constexpr int kObjects = 1000;
  if (format == "csv" || format == "tsv") {
    TableReader reader(file, TableOptions::of_format(format, header), {.skip_malformed = true});
    if (TableRow row; !header) {
      reader.next(row);
    }
    std::vector<std::string> columns = reader.columns();
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
