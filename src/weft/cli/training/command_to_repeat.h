// SPDX-License-Identifier: Apache-2.0
// A run as the command that makes it again.
#pragma once

#include <string>

#include "weft/report/run_figures.h"

namespace weft::cli {

/// `weft train` with the flags that make this run again, in a shell's words, one line.
std::string command_to_repeat(const report::RunFigures& run);

}  // namespace weft::cli
