// SPDX-License-Identifier: Apache-2.0
// The names of a file's columns or JSON fields, and which of them say what: those that data sets commonly have are
// found, others a flag names.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft::readers {

/// The columns and JSON fields that hold the text of a record where nobody names another, most usual first; the same of
/// its label, and of a source text and its target.
inline constexpr std::array<std::string_view, 5> kTextFields = {"text", "sentence", "sequence", "review", "content"};
inline constexpr std::array<std::string_view, 3> kLabelFields = {"label", "labels", "class"};
inline constexpr std::array<std::string_view, 5> kSourceFields = {"source", "src", "text", "document", "article"};
inline constexpr std::array<std::string_view, 5> kTargetFields = {"target", "tgt", "translation", "summary",
                                                                  "abstract"};

/// The first of `usual` that is among `columns`; empty where none is.
template <std::size_t kCount>
std::string usual_column(const std::vector<std::string>& columns, const std::array<std::string_view, kCount>& usual) {
  const auto* found = std::find_if(usual.begin(), usual.end(), [&](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  });
  return found == usual.end() ? std::string() : std::string(*found);
}

/// The columns of a table (csv, tsv), or the fields of the first 1,000 JSON objects (jsonl, json) in the order in which
/// they come, at most 256; none of any other format. Malformed records say nothing. Errors: as the readers.
std::vector<std::string> columns_of(const std::filesystem::path& file, const std::string& format);

}  // namespace weft::readers
