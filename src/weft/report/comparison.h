// SPDX-License-Identifier: Apache-2.0
// Several runs in one table: a column a run, their last figures with the best of each marked, and their settings; and
// the table itself, as wide as the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/report/run_figures.h"

namespace weft::report {

/// For programs, one object a run: what summary_json() says, and "settings": those in which the runs differ, or with
/// `all` every one; null for a setting that a run does not have.
std::vector<formats::Json> comparison_json(const std::vector<RunFigures>& runs, bool all);

/// For people, at most `width` columns wide. The best of a figure has a star behind it where the runs differ, among
/// runs of one task that are measured on the same data and, by the token, with one vocabulary; a line says so. Settings
/// that are equal in all runs, or that a run's task does not read, are left out; `all` leaves out the latter only.
std::string comparison_text(const std::vector<RunFigures>& runs, bool all, std::int64_t width);

/// A line of the table: its name, and a cell for each column. Without cells it is a heading.
struct SideBySideRow {
  std::string name;
  std::vector<std::string> cells;
};

/// The table, every line of it at most `width` columns unless `width` leaves no room for a name and eight letters
/// beside it. Text is UTF-8 without control characters; a code point counts as one column.
std::string side_by_side(const std::vector<std::string>& columns, const std::vector<SideBySideRow>& rows,
                         std::int64_t width);

}  // namespace weft::report
