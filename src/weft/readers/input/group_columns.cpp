// SPDX-License-Identifier: Apache-2.0
// A column is found once: the text is none that is the query, the score none that is the text.
#include "weft/readers/input/group_columns.h"

#include <fnmatch.h>

#include <algorithm>

#include "weft/readers/input/columns.h"

namespace weft::readers {
namespace {

std::vector<std::string> without(std::vector<std::string> columns, const std::string& taken) {
  std::erase(columns, taken);
  return columns;
}

}  // namespace

GroupColumns usual_group_columns(const std::vector<std::string>& columns) {
  GroupColumns found;
  found.query = usual_column(columns, kQueryFields);
  found.text = usual_column(without(columns, found.query), kPositiveFields);
  found.score = usual_column(without(columns, found.text), kScoreFields);
  for (const std::string& column : columns) {
    const bool negative = std::ranges::any_of(kNegativeFields, [&](std::string_view pattern) {
      return ::fnmatch(std::string(pattern).c_str(), column.c_str(), 0) == 0;
    });
    if (negative) {
      found.negatives.push_back(column);
    }
  }
  return found;
}

}  // namespace weft::readers
