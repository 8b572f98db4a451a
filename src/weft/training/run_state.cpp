// SPDX-License-Identifier: Apache-2.0
// state.json and training.json, read and written.
#include "weft/training/run_state.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <algorithm>
#include <string>

#include "weft/checkpoint/tensors.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/version.h"
#include "weft/formats/json_members.h"
#include "weft/training/distillation/config.h"
#include "weft/training/run/shared_terms.h"
#include "weft/training/text_config.h"

namespace weft::training {
namespace {

using formats::Json;

constexpr std::int64_t kStateFormat = 1;

Json versions() { return {{"weft_version", std::string(kVersion)}, {"torch_version", TORCH_VERSION}}; }

// A resumed run shows the windows that follow; over another text these would be other windows.
void check_data(const Json& recorded, const Task& task, const std::filesystem::path& checkpoint) {
  const Json found = task.data_identity();
  const Json settings = task.settings();
  std::string field = settings.contains("train_text") && !settings.contains("train_data") ? "train_text" : "train_data";
  for (const char* other : {"train_text", "train_images", "train_audio"}) {
    field = settings.contains(other) && !settings[other].empty() ? other : field;
  }
  for (const auto& [name, value] : recorded.items()) {
    require(
        found.contains(name) && found[name] == value, field, ": the data are not those of ",
        Quoted(checkpoint.native(), 4096), ": ", name, " was ", [&] { return value.dump(); }, ", found ",
        [&] { return found.contains(name) ? found[name].dump() : "none"; });
  }
}

}  // namespace

Json write_state(const std::filesystem::path& directory, const RunState& state, const TrainerConfig& config,
                 const Task& task, const Optimizer& optimizer) {
  task.save(directory);
  task.save_state(directory);
  checkpoint::save_tensors(directory / kMomentsFile, optimizer.state());
  Json json = {{"format", kStateFormat},
               {"step", state.step},
               {"tokens", state.tokens},
               {"seconds", state.seconds},
               {"loss", state.loss},
               {"learning_rate_schedule", config.schedule},
               {"random", {{"seed", config.seed}, {"step", state.step}}},
               {"data", task.data_identity()},
               {"settings", lasting_settings(training_json(resolved(config), task))},
               {"threads", at::get_num_threads()},
               {"device", config.device},
               {"tf32", config.tf32}};
  json.update(versions());
  return json;
}

RunState read_state(const Checkpoint& checkpoint, const TrainerConfig& config, Task& task) {
  const Json& json = checkpoint.state;
  const std::string where = checkpoint.where();
  const auto format = formats::value_of<std::int64_t>(json, "format", where);
  if (format != kStateFormat) {
    fail(ErrorKind::kFormat, where, ": format must be ", kStateFormat, ", found ", format,
         "; another version of Weft wrote it");
  }
  check_data(formats::object_member(json, "data", where), task, checkpoint.path);
  if (json.contains("settings")) {  // earlier versions wrote none
    // A program may go on with settings that leave something open: resolved, as they were when the run began.
    check_lasting(formats::object_member(json, "settings", where), training_json(resolved(config), task),
                  checkpoint.path / kManifestFile);
  }
  const auto threads = formats::value_of<std::int64_t>(json, "threads", where);
  // Sums over another number of parts round otherwise. That is no reason to refuse, and must be said.
  if (threads != at::get_num_threads()) {
    log_warning("this run used ", threads, " threads before and has ", at::get_num_threads(),
                " now: losses will agree to rounding, not to the last bit");
  }
  if (const auto device = formats::value_or(json, "device", where, std::string("cpu")); device != config.device) {
    log_warning("this run learned on ", quote(device), " before and does on ", config.device,
                " now: losses will agree to rounding, not to the last bit");
  }
  if (const auto tf32 = formats::value_or(json, "tf32", where, false); tf32 != config.tf32) {
    log_warning("this run learned ", tf32 ? "with" : "without", " ", option("tf32"), " before and does ",
                config.tf32 ? "with" : "without", " it now: losses will agree to about three digits");
  }
  const auto seed =
      formats::value_of<std::int64_t>(formats::object_member(json, "random", where), "seed", where + ": random");
  require(seed == config.seed, where, ": seed must be that of training.json, ", config.seed, ", found ", seed);
  const RunState state = {checkpoint.step, formats::value_of<std::int64_t>(json, "tokens", where),
                          formats::value_of<double>(json, "seconds", where),
                          formats::value_of<double>(json, "loss", where)};
  task.load(checkpoint.path);
  task.load_state(checkpoint.path, checkpoint.step);
  return state;
}

void load_moments(const std::filesystem::path& checkpoint, Optimizer& optimizer, std::int64_t step) {
  const ModelFile file(checkpoint, kMomentsFile);
  const checkpoint::NamedTensors moments = checkpoint::load_tensors(file);
  try {
    optimizer.load_state(moments, step);
  } catch (const Error& error) {
    throw Error(error.kind(), concat(quote(file.path().native(), 4096), ": ", error.what()), error.hint());
  }
}

Json training_json(const TrainerConfig& config, const Task& task) {
  Json json = versions();
  json.update(formats::to_json(config));
  json.update(task.settings());
  return json;
}

TrainerConfig config_from_json(const Json& json, const std::filesystem::path& where) {
  TrainerConfig config;
  // What a version did that did not record it.
  config.dropout_draws = static_cast<std::int64_t>(DropoutDraws::kFirst);
  const std::string named = quote(where.native(), 4096);
  if (!json.is_object() || !json.contains("task")) {  // a language model's: its task has no settings but the text's
    std::vector<std::string_view> known;
    const auto note = [&](const auto& field) { known.push_back(field.name); };
    TrainerConfig::fields(note);
    TextConfig::fields(note);
    DistillationConfig::fields(note);
    formats::check_keys(json, named, known, {"weft_version", "torch_version"});
  }
  formats::update_from_json(config, formats::only_fields_of<TrainerConfig>(json), named);
  check_config(config, named);
  // A run of a version that knew one process only.
  config.processes = std::max<std::int64_t>(config.processes, 1);
  return config;
}

}  // namespace weft::training
