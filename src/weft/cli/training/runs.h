// SPDX-License-Identifier: Apache-2.0
// The nine ways to train, each from a request to a trained run.
#pragma once

#include <cstdint>

#include "weft/cli/training/request.h"
#include "weft/training/trainer.h"

namespace weft::cli {

/// Announces what will be computed and computes it. Everything that can be refused is refused before the first line is
/// announced. Every process trains; the first one speaks. Errors: UsageError where a directory decides what a flag
/// says, or cannot learn the task; as Trainer::run.
training::TrainResult carry_out(const TrainRequest& request, std::int64_t threads);

}  // namespace weft::cli
