// SPDX-License-Identifier: Apache-2.0
// What an evaluation showed besides its figures, as HTML: scores of each label or entity, the confusion matrix,
// examples of errors.
#pragma once

#include <string>

#include "weft/formats/config_json.h"

namespace weft::cli {

/// `review` as a run's evaluation.json has it (fine_tuning::Objective::review); nothing for null. Errors: kFormat
/// naming `where` for another form.
std::string review_section(const formats::Json& review, const std::string& where);

}  // namespace weft::cli
