// SPDX-License-Identifier: Apache-2.0
// `weft average`: one model out of the last checkpoints of a run, or out of several runs.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/checkpoint/average.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/training/run/checkpoint_manifest.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAverageExamples =
    "  weft train --task translate --train-source train.de --train-target train.en --steps 5000 \\\n"
    "    --checkpoint-every 200 --keep-checkpoints 5 --out run\n"
    "  weft average run --out mean\n"
    "  weft average run/checkpoints/step-4800 run/checkpoints/step-5000 --out mean\n"
    "  weft average first second third --out mean";

struct AverageCommand {
  std::vector<std::string> directories;
  std::string out;
  std::int64_t last = 0;
  bool json = false;
};

// The newest `count` whole checkpoints of a run, all of them for 0; step 0 holds weights before any training.
std::vector<fs::path> checkpoints_of(const fs::path& run, std::int64_t count) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints", error)) {
    const auto checkpoint = training::read_checkpoint(entry.path());
    if (checkpoint && checkpoint->step > 0) {
      found.emplace_back(checkpoint->step, checkpoint->path);
    }
  }
  if (error) {
    fail(ErrorKind::kIo, quote((run / "checkpoints").string(), 4096), ": ", error.message());
  }
  require(!found.empty(), Quoted(run.string(), 4096), " has no whole checkpoint behind step 0: nothing to average");
  std::sort(found.rbegin(), found.rend());
  const auto kept = count == 0 ? found.size() : std::min(found.size(), static_cast<std::size_t>(count));
  require(count == 0 || kept == static_cast<std::size_t>(count), Quoted(run.string(), 4096), " has ", found.size(),
          " checkpoints, fewer than --last ", count, "; weft train --keep-checkpoints keeps more");
  std::vector<fs::path> paths;
  std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), std::back_inserter(paths),
                 [](const auto& one) { return one.second; });
  return paths;
}

// One run stands for its checkpoints, several directories for the models that they are.
std::vector<fs::path> models_of(const AverageCommand& command) {
  const bool of_run =
      command.directories.size() == 1 && fs::is_directory(fs::path(command.directories.front()) / "checkpoints");
  if (of_run) {
    return checkpoints_of(command.directories.front(), command.last);
  }
  require(command.last == 0, "--last is for one run, found ", command.directories.size(), " directories");
  return {command.directories.begin(), command.directories.end()};
}

void run_average(const AverageCommand& command) {
  const std::vector<fs::path> models = models_of(command);
  std::optional<BusyBar> bar("averaging");
  checkpoint::average_models(models, command.out);
  bar.reset();
  std::vector<std::string> names;
  std::transform(models.begin(), models.end(), std::back_inserter(names),
                 [](const fs::path& path) { return path.string(); });
  if (command.json) {
    print_json({{"model", command.out}, {"models", names}});
    return;
  }
  Rows rows = {{"model", command.out}};
  for (const std::string& name : names) {
    rows.emplace_back(rows.size() == 1 ? "mean of" : "", name);
  }
  std::cout << name_table(rows);
}

}  // namespace

void add_average(CLI::App& parent) {
  auto command = std::make_shared<AverageCommand>();
  CLI::App& app = add_command(parent, "average", std::string(kAverageExamples));
  add_model_arguments(
      app, "DIRS", command->directories,
      "one run, whose checkpoints are averaged; or several runs, checkpoints or model directories of one shape")
      .required();
  app.add_option("--out", command->out, "model directory to make")->option_text("OUT")->required();
  app.add_option("--last", command->last, "of one run: how many of its newest checkpoints (default: all that it kept)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->option_text("N");
  add_json_flag(app, command->json);
  app.callback([command] { run_average(*command); });
}

}  // namespace weft::cli
