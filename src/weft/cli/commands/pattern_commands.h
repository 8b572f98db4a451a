// SPDX-License-Identifier: Apache-2.0
// The commands below `weft pattern`.
#pragma once

namespace CLI {
class App;
}

namespace weft::cli {

void add_pattern_show(CLI::App& parent);

}  // namespace weft::cli
