// SPDX-License-Identifier: Apache-2.0
// What `weft train` prints at the end: of a run, and of several that differ in their seed.
#pragma once

#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/training/trainer.h"

namespace weft::cli {

/// For --json.
formats::Json result_json(const std::string& out, const training::TrainResult& result);

/// A table for people; `fine_tuned`: a task's figures, each under its own name.
std::string result_text(const std::string& out, const training::TrainResult& result, bool fine_tuned);

/// For every figure that all `evaluations` have as a number: {"mean", "deviation", "values"}; the deviation is the
/// sample's (n - 1), null for a single seed.
formats::Json seed_statistics(const std::vector<formats::Json>& evaluations);

}  // namespace weft::cli
