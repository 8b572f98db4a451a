// SPDX-License-Identifier: Apache-2.0
// Reads training.json, the newest whole checkpoint and the last evaluation of metrics.jsonl.
#include "weft/cli/commands/run_summary.h"

#include "weft/cli/output.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/progress.h"
#include "weft/formats/json_lines.h"
#include "weft/training/run_directory.h"

namespace weft::cli {
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
  if (!fs::exists(run / "metrics.jsonl")) {
    return last;
  }
  for (const Json& entry : formats::read_json_lines(run / "metrics.jsonl", formats::BrokenLines::kSkip)) {
    // A killed run may have evaluated behind its last checkpoint; such an entry says its own step.
    if (entry.contains("eval") && entry["eval"].is_object() && entry.contains("step")) {
      last = entry["eval"];
      last["step"] = entry["step"];
    }
  }
  return last;
}

std::string paths_text(const Json& paths) {
  return joined(paths, ", ", [](const Json& path) { return path.get<std::string>(); });
}

/// "of 1,000" steps, or the time that was and is to be spent.
std::string extent_text(const Json& run) {
  const Json& config = run.at("config");
  if (const std::int64_t steps = config.value("steps", std::int64_t{0}); steps > 0) {
    return concat("of ", digits(steps));
  }
  return concat("in ", duration_text(run["seconds"].get<double>()), " of ",
                duration_text(60 * config.value("minutes", 0.0)));
}

/// A run is made with a checkpoint of step 0, the weights before any training: nothing was learnt or measured there.
std::string progress_text(const Json& run) {
  const std::int64_t step = run["step"].get<std::int64_t>();
  if (step == 0) {
    return "no checkpoint yet: the weights are those that training began with";
  }
  return concat(digits(step), " steps ", extent_text(run), ", ", digits(run["tokens"].get<std::int64_t>()), " tokens");
}

/// What a fine-tuning run was trained on, and its last figures.
void add_task_rows(const Json& run, Rows& rows) {
  const Json& config = run.at("config");
  rows.emplace_back("task", config.at("task").get<std::string>());
  const bool of_text = !config.contains("train_data");
  rows.emplace_back(of_text ? "text" : "data",
                    paths_text(config.value(of_text ? "train_text" : "train_data", Json::array())));
  const Json& evaluation = run.at("evaluation");
  for (const auto& [name, value] : evaluation.items()) {  // none where it is null
    if (name != "step" && value.is_number()) {
      const std::string figure =
          value.is_number_integer() ? digits(value.get<std::int64_t>()) : fixed(value.get<double>(), 4);
      rows.emplace_back(name, concat(figure, " after step ", digits(evaluation["step"].get<std::int64_t>())));
    }
  }
}

}  // namespace

Rows model_rows(const models::TransformerConfig& config, std::int64_t parameters) {
  const std::string kind = config.is_decoder ? "decoder" : "encoder";
  return {
      {"model", concat("weft ", kind, ", ", digits(parameters), " parameters")},
      {"shape", concat(config.num_hidden_layers, config.num_hidden_layers == 1 ? " layer, width " : " layers, width ",
                       config.hidden_size, ", ", config.num_attention_heads, " heads, feed-forward ",
                       config.feed_forward_size(), " (", config.hidden_act, ")")},
      {"positions",
       concat(config.position_embedding, ", made for ", digits(config.max_position_embeddings), " tokens")},
      {"vocabulary", concat(config.tokenizer_class, ", ", digits(config.vocab_size), " ids")}};
}

std::optional<Json> run_json(const fs::path& directory) {
  if (!fs::exists(directory / "training.json")) {
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
  run["config"] = formats::read_json(directory / "training.json");
  return run;
}

Rows run_rows(const Json& run) {
  const Json& config = run.at("config");
  Rows rows;
  if (run.contains("step")) {
    rows.emplace_back("trained", progress_text(run));
  }
  const bool of_task = config.contains("task");
  if (run.contains("loss") && run["loss"].is_number()) {
    rows.emplace_back("loss",
                      concat(fixed(run["loss"].get<double>(), 4), of_task ? "" : " nats a token", " in the last step"));
  }
  if (of_task) {
    add_task_rows(run, rows);
    return rows;
  }
  rows.emplace_back("text", paths_text(config.value("train_text", Json::array())));
  if (const Json& evaluation = run.at("evaluation"); evaluation.contains("bits_per_byte")) {
    rows.emplace_back("held-out", concat(fixed(evaluation["bits_per_byte"].get<double>(), 4),
                                         " bits per byte after step ", digits(evaluation["step"].get<std::int64_t>())));
  }
  return rows;
}

}  // namespace weft::cli
