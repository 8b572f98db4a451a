// SPDX-License-Identifier: Apache-2.0
// What a run directory says of its run.
#include "weft/report/run_summary.h"

#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/text/number_text.h"
#include "weft/formats/json_lines.h"
#include "weft/formats/json_members.h"
#include "weft/training/run/metrics_log.h"
#include "weft/training/run_directory.h"

namespace weft::report {
namespace {

namespace fs = std::filesystem;
using formats::Json;

// The newest whole one; RunDirectory would take the lock, and a run may be training right now.
std::optional<training::Checkpoint> newest_checkpoint(const fs::path& run) {
  std::optional<training::Checkpoint> newest;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints", ignored)) {
    std::optional<training::Checkpoint> found = training::read_checkpoint(entry.path());
    if (found && (!newest || found->step > newest->step)) {
      newest = std::move(found);
    }
  }
  return newest;
}

/// The last evaluation in the metrics, or null.
Json last_evaluation(const fs::path& run) {
  Json last = nullptr;
  const ModelFile metrics(run, "metrics.jsonl");
  if (!metrics.exists()) {
    return last;
  }
  for (const Json& entry : formats::read_json_lines(metrics, formats::BrokenLines::kSkip)) {
    // A killed run may have evaluated behind its last checkpoint; such an entry says its own step.
    if (training::is_evaluation(entry)) {
      last = entry["eval"];
      last["step"] = entry["step"];
    }
  }
  return last;
}

/// What run_json() gives, and where a field that is none is at fault.
struct Run {
  const Json& json;
  const Json& config;
  std::string training;  ///< the path of training.json in quotes
  std::string state;     ///< that of the newest checkpoint's manifest
};

std::string paths_text(const Run& run, const char* field) {
  return joined(formats::value_or(run.config, field, run.training, std::vector<std::string>()), ", ");
}

/// "of 1,000" steps, or the time that was and is to be spent.
std::string extent_text(const Run& run) {
  const auto steps = formats::value_or(run.config, "steps", run.training, std::int64_t{0});
  if (steps > 0) {
    return concat("of ", digits(steps));
  }
  return concat("in ", duration_text(formats::value_of<double>(run.json, "seconds", run.state)), " of ",
                duration_text(60 * formats::value_or(run.config, "minutes", run.training, 0.0)));
}

/// A run is made with a checkpoint of step 0, the weights before any training: nothing was learnt or measured there.
std::string progress_text(const Run& run) {
  const std::int64_t step = run.json["step"].get<std::int64_t>();
  if (step == 0) {
    return "no checkpoint yet: the weights are those that training began with";
  }
  return concat(digits(step), " steps ", extent_text(run), ", ",
                digits(formats::value_of<std::int64_t>(run.json, "tokens", run.state)), " tokens");
}

/// What a fine-tuning run was trained on, and its last figures.
void add_task_rows(const Run& run, NamedValues& rows) {
  rows.emplace_back("task", formats::value_of<std::string>(run.config, "task", run.training));
  const bool of_text = !run.config.contains("train_data") || !paths_text(run, "train_text").empty();
  const std::string sources = paths_text(run, "train_source");
  if (!sources.empty()) {
    rows.emplace_back("sources", sources);
    rows.emplace_back("targets", paths_text(run, "train_target"));
  } else {
    rows.emplace_back(of_text ? "text" : "data", paths_text(run, of_text ? "train_text" : "train_data"));
  }
  const Json& evaluation = run.json.at("evaluation");
  for (const auto& [name, value] : evaluation.items()) {  // none where it is null
    if (name != "step" && value.is_number()) {
      const std::string figure =
          value.is_number_integer() ? digits(value.get<std::int64_t>()) : fixed(value.get<double>(), 4);
      rows.emplace_back(name, concat(figure, " after step ", digits(evaluation["step"].get<std::int64_t>())));
    }
  }
}

}  // namespace

std::optional<Json> run_json(const fs::path& directory) {
  const ModelFile training(directory, "training.json");
  if (!training.exists()) {
    return std::nullopt;
  }
  Json run = Json::object();
  if (const std::optional<training::Checkpoint> checkpoint = newest_checkpoint(directory)) {
    run["step"] = checkpoint->step;
    for (const char* name : {"tokens", "seconds", "loss"}) {
      run[name] = checkpoint->state.value(name, Json(nullptr));
    }
    if (checkpoint->step == 0) {
      run["loss"] = nullptr;  // state.json holds a 0 that no step has measured
    }
  }
  run["evaluation"] = last_evaluation(directory);
  run["config"] = formats::read_json_object(training);
  return run;
}

NamedValues run_rows(const Json& json, const fs::path& directory) {
  const std::int64_t step = json.value("step", std::int64_t{0});
  const training::Checkpoint newest{step, training::checkpoint_path(directory, step), nullptr};
  const Run run = {json, json.at("config"), quote((directory / "training.json").native(), 4096), newest.where()};
  NamedValues rows;
  if (json.contains("step")) {
    rows.emplace_back("trained", progress_text(run));
  }
  if (const auto dtype = formats::value_or(run.config, "dtype", run.training, std::string()); !dtype.empty()) {
    rows.emplace_back("computed in", dtype);
  }
  const bool of_task = run.config.contains("task");
  if (json.contains("loss") && !json["loss"].is_null()) {
    rows.emplace_back("loss", concat(fixed(formats::value_of<double>(json, "loss", run.state), 4),
                                     of_task ? "" : " nats a token", " in the last step"));
  }
  if (of_task) {
    add_task_rows(run, rows);
    return rows;
  }
  for (const auto& [field, name] :
       {std::pair("train_text", "text"), {"train_images", "pictures"}, {"train_audio", "sound"}}) {
    if (const std::string paths = paths_text(run, field); !paths.empty()) {
      rows.emplace_back(name, paths);
    }
  }
  const Json& evaluation = json.at("evaluation");
  if (evaluation.contains("bits_per_byte") && evaluation["bits_per_byte"].is_number()) {
    rows.emplace_back("held-out", concat(fixed(evaluation["bits_per_byte"].get<double>(), 4),
                                         " bits per byte after step ", digits(evaluation["step"].get<std::int64_t>())));
  }
  return rows;
}

}  // namespace weft::report
