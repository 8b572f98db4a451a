// SPDX-License-Identifier: Apache-2.0
// An output that is one of the inputs: the command would lose what it was to read.
#pragma once

#include <CLI/App.hpp>

namespace weft::cli {

/// Errors: UsageError where the file that a flag of the command writes (--out, --output, --predictions, --token-scores,
/// --svg, --png, --plot) is one that another flag or argument of it names, also by another path.
void refuse_overwritten_input(const CLI::App& command);

}  // namespace weft::cli
