// SPDX-License-Identifier: Apache-2.0
// What `weft train` prints for people at the end of a run.
#pragma once

#include <string>

#include "weft/training/trainer.h"

namespace weft::cli {

/// A table for people; `fine_tuned`: a task's figures, each under its own name.
std::string result_text(const std::string& out, const training::TrainResult& result, bool fine_tuned);

}  // namespace weft::cli
