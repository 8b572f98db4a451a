// SPDX-License-Identifier: Apache-2.0
// CLI11 takes an argument like "[MASK] and [MASK]" for a list and drops its brackets and commas. Here such arguments
// stay what they are: they are marked before the parse, and every option takes the mark off again.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace weft::cli {

/// The arguments of main(), those in brackets with the mark.
std::vector<std::string> marked_arguments(int count, char** arguments);

/// Without the mark, if it is there.
std::string unmarked(std::string argument);

/// Makes every option of `app` and of the commands below it take the mark off its values.
void unmark_values(CLI::App& app);

}  // namespace weft::cli
