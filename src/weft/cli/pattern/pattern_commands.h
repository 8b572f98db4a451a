// SPDX-License-Identifier: Apache-2.0
// The commands below `weft pattern`.
#pragma once

#include <CLI/App.hpp>

namespace weft::cli {

/// Each adds its command, flags and callback to the app of `weft pattern`.
void add_pattern_show(CLI::App& parent);
void add_pattern_stats(CLI::App& parent);
void add_pattern_sweep(CLI::App& parent);
void add_pattern_compare(CLI::App& parent);
void add_pattern_cost(CLI::App& parent);

}  // namespace weft::cli
