// SPDX-License-Identifier: Apache-2.0
// `weft version`: what is running, for bug reports.
#include <iostream>
#include <memory>

#include <torch/version.h>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/core/cpu.h"
#include "weft/core/version.h"

namespace weft::cli {
namespace {

void print_version(bool json) {
  const std::string version(kVersion);
  if (json) {
    print_json({{"weft", version},
                {"libtorch", TORCH_VERSION},
                {"cpu", cpu_description()},
                {"fast_bfloat16", has_fast_bfloat16()}});
    return;
  }
  std::cout << name_table({{"weft", version},
                           {"libtorch", TORCH_VERSION},
                           {"cpu", cpu_description()},
                           {"bfloat16", has_fast_bfloat16() ? "fast" : "emulated: products run in float32"}});
}

}  // namespace

void add_version(CLI::App& parent) {
  auto json = std::make_shared<bool>(false);
  CLI::App& app = add_command(parent, "version", "  weft version --json");
  add_json_flag(app, *json);
  app.callback([json] { print_version(*json); });
}

}  // namespace weft::cli
