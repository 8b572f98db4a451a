// SPDX-License-Identifier: Apache-2.0
// Pairs of texts on a command line: two aligned files, one file of records with both, or two arguments.
#pragma once

#include <CLI/App.hpp>

#include "weft/tasks/input/pair_source.h"

namespace weft::cli {

using tasks::PairInput;
using tasks::PairSource;

/// Adds the arguments SOURCE TARGET, --source, --target, --file, --format, --source-field and --target-field.
void add_pair_arguments(CLI::App& app, PairSource& flags);

/// Before a PairInput reads them. Errors: UsageError for none or several of the three, and where both files are
/// standard input.
void check_pairs(const PairSource& pairs);

}  // namespace weft::cli
