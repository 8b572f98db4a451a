// SPDX-License-Identifier: Apache-2.0
// `weft bench`: what this machine does, verified before it is timed. Its commands are files named bench_*.cpp.
#include "weft/bench/mechanism_bench.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/help.h"

namespace weft::cli {

void add_bench(CLI::App& parent) {
  CLI::App& app = add_command(parent, "bench",
                              "  weft bench attention --pattern 'window(512)' --length 4096 --backward\n"
                              "  weft bench model bigbird-base --length 4096 --dtype bfloat16\n"
                              "  weft bench mechanisms --causal --lengths 512,4096,32768\n"
                              "  weft bench calibrate");
  app.require_subcommand(1);
  add_bench_attention(app);
  add_bench_model(app);
  add_bench_mechanisms(app);
  add_bench_calibrate(app);
}

}  // namespace weft::cli
