// SPDX-License-Identifier: Apache-2.0
// A run as one page of HTML that needs no other file: no script, no style sheet, no picture elsewhere.
#pragma once

#include <string>

#include "weft/formats/config_json.h"
#include "weft/report/run_figures.h"

namespace weft::report {

/// Final figures, curves of what was measured twice or more, what the last evaluation of a fine-tuned model showed, the
/// picture of what each group of layers attends to, `command`, which makes the run again, and the settings that its
/// task reads. Errors: kExpression for a model whose attention does not parse; kFormat.
std::string report_page(const RunFigures& run, const std::string& command);

/// `review` as a run's evaluation.json has it (fine_tuning::Objective::review); nothing for null. Errors: kFormat
/// naming `where` for another form.
std::string review_section(const formats::Json& review, const std::string& where);

}  // namespace weft::report
