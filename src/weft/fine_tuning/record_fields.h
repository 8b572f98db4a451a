// SPDX-License-Identifier: Apache-2.0
// Which column or JSON field is the text, and which says the label: by name, or by the names that data sets commonly
// have.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fine_tuning/text_records.h"
#include "weft/formats/config_json.h"

namespace weft::fine_tuning {

/// Whether a column or field of this name tells records apart: "id", in any case.
bool is_id_field(std::string_view name);

/// A file's name up to its first dot.
std::string first_stem(const std::filesystem::path& file);

/// Places in a row.
struct TableColumns {
  std::size_t text = 0;
  std::optional<std::size_t> pair;
  std::optional<std::size_t> id;  ///< the column "id", in any case, where it is neither text nor label
  std::vector<std::size_t> labels;
};

/// The columns that `settings` name, or that usual names find. Errors: kArgument naming `file` and its columns.
TableColumns find_columns(const std::vector<std::string>& columns, const DataSettings& settings, LabelCount count,
                          bool with_labels, const std::string& file);

/// The name of the text's field in a JSON record.
std::string json_text_field(const formats::Json& object, const DataSettings& settings, const std::string& place);

/// What a record may say, and where it stands.
struct LabelPlace {
  LabelCount count = LabelCount::kOne;
  const std::string& place;
};

/// The labels of a row. Several columns hold 0 or 1, one holds a label or names between commas. Errors:
/// MalformedRecord.
void take_labels(const std::vector<std::string>& row, const std::vector<std::string>& names,
                 const TableColumns& columns, const LabelPlace& where, TextRecord& record);

/// The labels of a JSON record: a string, number or truth value; several as a list of names, or of 0 and 1 for label 0,
/// 1, ... Errors: MalformedRecord.
void take_json_labels(const formats::Json& object, const DataSettings& settings, const LabelPlace& where,
                      TextRecord& record);

}  // namespace weft::fine_tuning
