// SPDX-License-Identifier: Apache-2.0
// The names of a file's columns or JSON fields, and which of them say what: those that data sets commonly have are
// found, others a flag names.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/config_json.h"

namespace weft::readers {

/// The columns and JSON fields that hold the text of a record where nobody names another, most usual first; the same of
/// its label, and of a source text and its target.
inline constexpr std::array<std::string_view, 5> kTextFields = {"text", "sentence", "sequence", "review", "content"};
inline constexpr std::array<std::string_view, 3> kLabelFields = {"label", "labels", "class"};
inline constexpr std::array<std::string_view, 5> kSourceFields = {"source", "src", "text", "document", "article"};
inline constexpr std::array<std::string_view, 5> kTargetFields = {"target", "tgt", "translation", "summary",
                                                                  "abstract"};
/// The fields that name a record.
inline constexpr std::array<std::string_view, 2> kRecordIdFields = {"id", "_id"};

/// The first of `usual` that is among `columns`; where none is, the first that is there in other capitals, as it is
/// written there: "Text" for "text". Empty where none is.
std::string usual_column(const std::vector<std::string>& columns, std::span<const std::string_view> usual);

/// Errors: kFormat naming `file` where two columns have the name, so that it says neither.
void refuse_same_name(const std::vector<std::string>& columns, std::string_view name, std::string_view file);

/// usual_column() of the fields of a record, without the one that is called `taken`.
std::string usual_field(const formats::Json& record, std::span<const std::string_view> usual,
                        std::string_view taken = {});

/// What the record calls the field `name`, in any capitals; `name` itself where it has none, and is no object.
std::string known_field(const formats::Json& record, std::string_view name);

/// The columns of a table (csv, tsv), or the fields of the first 1,000 JSON objects (jsonl, json) in the order in which
/// they come, at most 256; none of any other format. Without a `header` columns are 1, 2, ... Malformed records say
/// nothing. Errors: as the readers.
std::vector<std::string> columns_of(const std::filesystem::path& file, const std::string& format, bool header);

}  // namespace weft::readers
