// SPDX-License-Identifier: Apache-2.0
// Several processes compare what they were asked to do before any of them reads its data.
#pragma once

#include <vector>

#include "weft/runs/train/request.h"

namespace weft::runs {

/// Returns when all processes were asked for the same runs: the same fields, the same models to begin with and to learn
/// from, byte for byte. Where files and folders lie may differ, as may the number of threads. Errors: as
/// training::require_agreement.
void agree_on_request(const TrainOptions& options, const std::vector<TrainRequest>& requests);

}  // namespace weft::runs
