// SPDX-License-Identifier: Apache-2.0
// `weft data trees`: bracketed trees as texts to learn from and to score.
#pragma once

#include <CLI/App.hpp>

namespace weft::cli {

/// Adds the command to `weft data`.
void add_data_trees(CLI::App& data);

}  // namespace weft::cli
