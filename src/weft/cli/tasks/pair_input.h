// SPDX-License-Identifier: Apache-2.0
// Pairs of texts on a command line: two aligned files, one file of records with both, or two arguments.
#pragma once

#include <CLI/App.hpp>

#include "weft/tasks/input/pair_source.h"

namespace weft::cli {

using tasks::check_pairs;
using tasks::PairInput;
using tasks::PairSource;

/// Adds the arguments SOURCE TARGET, --source, --target, --file, --format, --source-field and --target-field.
void add_pair_arguments(CLI::App& app, PairSource& flags);

}  // namespace weft::cli
