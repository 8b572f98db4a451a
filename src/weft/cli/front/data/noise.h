// SPDX-License-Identifier: Apache-2.0
// `weft data noise`: words dropped, filled in and shuffled, for sources that a model made.
#pragma once

#include <CLI/App.hpp>

namespace weft::cli {

/// Adds the command to `weft data`.
void add_data_noise(CLI::App& data);

}  // namespace weft::cli
