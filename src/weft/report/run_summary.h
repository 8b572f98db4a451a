// SPDX-License-Identifier: Apache-2.0
// What a run directory says of its run, in a few rows. Read without taking the run's lock.
#pragma once

#include <filesystem>
#include <optional>

#include "weft/formats/config_json.h"
#include "weft/report/named_values.h"

namespace weft::report {

/// How a run was trained and how far its newest checkpoint is: {"step", "tokens", "seconds", "loss", "evaluation",
/// "config"}; "loss" is null at step 0, the weights before training. Nothing when the directory is a model only.
/// Errors: kIo, kFormat.
std::optional<formats::Json> run_json(const std::filesystem::path& directory);

/// Rows from run_json() of `directory`. Errors: kFormat naming the file and the field of another type.
NamedValues run_rows(const formats::Json& run, const std::filesystem::path& directory);

}  // namespace weft::report
