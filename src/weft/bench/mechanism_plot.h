// SPDX-License-Identifier: Apache-2.0
// What `weft bench mechanisms` measured as a figure: time and memory by length, all on powers of
// ten, and both in a table.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/bench/mechanism_bench.h"

namespace weft::bench {

/// Errors, before anything is measured: kArgument unless `file` ends with .png or .svg and there are at most as many
/// mechanisms as colours.
void check_mechanism_plot(const std::filesystem::path& file, std::size_t mechanisms);

/// Writes the figure. `title`: the machine and the shape of the calls. Errors: kIo; kArgument where nothing was
/// measured.
void write_mechanism_plot(const std::filesystem::path& file, const std::string& title,
                          const std::vector<MechanismReport>& reports, const MechanismCalls& calls);

}  // namespace weft::bench
