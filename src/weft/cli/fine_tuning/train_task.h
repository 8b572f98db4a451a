// SPDX-License-Identifier: Apache-2.0
// The part of `weft train` that fine-tunes an encoder.
#pragma once

#include <cstdint>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/training/trainer.h"

namespace weft::cli {

/// Says what will be computed, then trains a new run in `out`, or goes on with the one there. `fields` has "task".
training::TrainResult train_task(const std::string& out, const formats::Json& fields, std::int64_t threads);
training::TrainResult resume_task(const std::string& out, const formats::Json& fields, std::int64_t threads);

}  // namespace weft::cli
