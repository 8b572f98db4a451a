// SPDX-License-Identifier: Apache-2.0
// What a command that made a model says of it.
#pragma once

#include <filesystem>

#include "weft/checkpoint/new_models/new_model.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// {"out", "family", "head", "parameters", "positions"}, and "weights" where they are int8.
formats::Json new_model_json(const std::filesystem::path& out, const checkpoint::NewModel& made);

/// Prints what was made, as a table or as that.
void print_new_model(const std::filesystem::path& out, const checkpoint::NewModel& made, bool json);

}  // namespace weft::cli
