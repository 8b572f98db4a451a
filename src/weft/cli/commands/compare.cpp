// SPDX-License-Identifier: Apache-2.0
// `weft compare`: runs side by side, a column each: their last figures and the settings in which they differ.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/report/comparison.h"

namespace weft::cli {
namespace {

constexpr std::string_view kRunCompareExamples =
    "  weft compare runs/window runs/bigbird\n"
    "  weft compare runs/* --all\n"
    "  weft compare runs/* --json";

struct RunCompareOptions {
  std::vector<std::string> runs;
  bool all = false;
  bool json = false;
};

void compare_runs(const RunCompareOptions& options) {
  std::vector<report::RunFigures> runs;
  runs.reserve(options.runs.size());
  for (const std::string& path : options.runs) {
    runs.push_back(report::read_run(path));
  }
  if (options.json) {
    print_json(report::comparison_json(runs, options.all));
  } else {
    std::cout << report::comparison_text(runs, options.all, terminal_width());
  }
}

}  // namespace

void add_compare(CLI::App& parent) {
  auto options = std::make_shared<RunCompareOptions>();
  CLI::App& app = add_command(parent, "compare", std::string(kRunCompareExamples));
  app.add_option("RUNS", options->runs, "run directories; a run may still be training")->required();
  app.add_flag("--all", options->all, "also show the settings that are equal in all runs");
  add_json_flag(app, options->json);
  app.callback([options] { compare_runs(*options); });
}

}  // namespace weft::cli
