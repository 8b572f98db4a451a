// SPDX-License-Identifier: Apache-2.0
// `weft pattern`: what a pattern is, before any model. Its commands are files named pattern_*.cpp.
#include "weft/cli/commands/pattern_commands.h"
#include "weft/cli/commands/table.h"
#include "weft/cli/help.h"

namespace weft::cli {

void add_pattern(CLI::App& parent) {
  CLI::App& app = add_command(parent, "pattern", "look at an attention pattern: who may attend to whom",
                              "  weft pattern show 'strided(256)' --length 4096");
  app.require_subcommand(1);
  add_pattern_show(app);
}

}  // namespace weft::cli
