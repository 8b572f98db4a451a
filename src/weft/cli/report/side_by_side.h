// SPDX-License-Identifier: Apache-2.0
// A table with a column for each of several things, as wide as the terminal: what does not fit goes into another table
// below, and a long cell goes on in the next line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::cli {

/// A line of the table: its name, and a cell for each column. Without cells it is a heading.
struct SideBySideRow {
  std::string name;
  std::vector<std::string> cells;
};

/// The table, every line of it at most `width` columns unless `width` leaves no room for a name and eight letters
/// beside it. Text is UTF-8 without control characters; a code point counts as one column.
std::string side_by_side(const std::vector<std::string>& columns, const std::vector<SideBySideRow>& rows,
                         std::int64_t width);

}  // namespace weft::cli
