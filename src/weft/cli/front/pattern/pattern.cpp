// SPDX-License-Identifier: Apache-2.0
// `weft pattern`: what a pattern is, before any model. Its commands are files named pattern_*.cpp.
#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/pattern/pattern_site.h"
#include "weft/cli/front/pattern/spans_command.h"

namespace weft::cli {

void add_pattern(CLI::App& parent) {
  CLI::App& app =
      add_command(parent, "pattern",
                  "  weft pattern show 'strided(256)' --length 4096\n"
                  "  weft pattern stats bigbird --length 4096 --heads 12\n"
                  "  weft pattern compare 'window(256)' bigbird 'strided(64)' --length 1024 --png sheet.png\n"
                  "  weft pattern sweep --length 1024 --png small-world.png\n"
                  "  weft pattern spans run");
  app.require_subcommand(1);
  add_pattern_show(app);
  add_pattern_stats(app);
  add_pattern_compare(app);
  add_pattern_cost(app);
  add_pattern_sweep(app);
  app.add_subcommand(std::string(kSpansName), std::string(kSpansAbout))->group("Commands");  // listed, see run.cpp
}

}  // namespace weft::cli
