// SPDX-License-Identifier: Apache-2.0
// What `weft train --help` shows first, without a task and for each task.
#pragma once

#include <CLI/App.hpp>

namespace weft::cli {

/// Call it behind the flags of `weft train`.
void show_train_help(CLI::App& app);

}  // namespace weft::cli
