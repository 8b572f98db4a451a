// SPDX-License-Identifier: Apache-2.0
// Fields that somebody gave a run, and that have no effect because of its other fields (formats/field_conditions.h).
#pragma once

#include "weft/runs/train/request.h"

namespace weft::runs {

/// `given`: fields that somebody wrote, without those that a preset or a run's own file brings. A run that is resumed
/// is held to what it began with, and so not looked at. Errors: kArgument naming the field and its condition.
void check_given_conditions(const TrainRequest& request, const formats::Json& given);

}  // namespace weft::runs
