// SPDX-License-Identifier: Apache-2.0
// Several runs in one table: a column a run, their last figures with the best of each marked, and their settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/cli/report/run_figures.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// For programs, one object a run: what summary_json() says, and "settings": those in which the runs differ, or with
/// `all` every one; null for a setting that a run does not have.
std::vector<formats::Json> comparison_json(const std::vector<RunFigures>& runs, bool all);

/// For people, at most `width` columns wide. The best of a figure has a star behind it where the runs differ. Settings
/// that are equal in all runs, or that a run's task does not read, are left out; `all` leaves out the latter only.
std::string comparison_text(const std::vector<RunFigures>& runs, bool all, std::int64_t width);

}  // namespace weft::cli
