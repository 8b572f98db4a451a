// SPDX-License-Identifier: Apache-2.0
// The commands below `weft bench`.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name that CLI11 gave it
class App;
}

namespace weft::cli {

void add_bench_attention(CLI::App& parent);
void add_bench_model(CLI::App& parent);
void add_bench_calibrate(CLI::App& parent);

}  // namespace weft::cli
