// SPDX-License-Identifier: Apache-2.0
// An output that is one of the inputs: the command would lose what it was to read.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace weft::cli {

/// Errors: UsageError where the file that a flag of the command writes (--out, --output, --predictions, --token-scores,
/// --svg, --png, --plot) is one that another flag or argument of it names, also by another path.
/// A flag whose value is shown as NAME says how the names of several files begin; who makes these calls the function
/// below.
void refuse_overwritten_input(const CLI::App& command);

/// The same for files that `flag` names in part: `written` must be none of those that are read.
void refuse_overwritten_input(const std::vector<std::filesystem::path>& written,
                              std::span<const std::filesystem::path> read, const std::string& flag);

}  // namespace weft::cli
