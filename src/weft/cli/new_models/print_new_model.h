// SPDX-License-Identifier: Apache-2.0
// What a command that made a model says of it.
#pragma once

#include <filesystem>

#include "weft/checkpoint/new_models/new_model.h"

namespace weft::cli {

/// Prints what was made, as a table or as {"out", "family", "head", "parameters", "positions"}.
void print_new_model(const std::filesystem::path& out, const checkpoint::NewModel& made, bool json);

}  // namespace weft::cli
