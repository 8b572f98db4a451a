// SPDX-License-Identifier: Apache-2.0
// A model and a run directory in a few rows, read without taking the run's lock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/output.h"
#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"

namespace weft::cli {

/// Rows for name_table: kind and size, shape, positions.
Rows model_rows(const models::TransformerConfig& config, std::int64_t parameters);

/// How a run was trained and how far its newest checkpoint is: {"step", "tokens", "seconds", "loss", "evaluation",
/// "config"}; "loss" is null at step 0, the weights before training. Nothing when the directory is a model only.
/// Errors: kIo, kFormat.
std::optional<formats::Json> run_json(const std::filesystem::path& directory);

/// Rows for name_table from run_json().
Rows run_rows(const formats::Json& run);

}  // namespace weft::cli
