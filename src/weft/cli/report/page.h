// SPDX-License-Identifier: Apache-2.0
// A run as one page of HTML that needs nothing beside itself: no script, no style sheet, no picture elsewhere.
#pragma once

#include <string>

#include "weft/cli/report/run_figures.h"

namespace weft::cli {

/// Final figures, curves, the picture of what each group of layers attends to, all settings, and the command that makes
/// the run again. Errors: kExpression for a model whose attention does not parse.
std::string report_page(const RunFigures& run);

}  // namespace weft::cli
