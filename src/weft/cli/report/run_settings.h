// SPDX-License-Identifier: Apache-2.0
// The settings that a run was made with: those that its task reads, without what belongs to other tasks.
#pragma once

#include <string>

#include "weft/cli/report/run_figures.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// "lm", "mlm" or the task of fine-tuning.
std::string task_of(const RunFigures& run);

/// training.json without the fields that nothing in this run reads: those of other tasks, of other optimisers, and a
/// length that another field decides (minutes for steps, batch_tokens for batch_size).
formats::Json training_settings(const RunFigures& run);

/// config.json in the same way.
formats::Json model_settings(const RunFigures& run);

/// Both in one object; no name is in both.
formats::Json settings_of(const RunFigures& run);

}  // namespace weft::cli
