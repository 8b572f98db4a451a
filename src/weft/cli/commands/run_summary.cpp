// SPDX-License-Identifier: Apache-2.0
// Summaries for `weft info` and for what is printed before a run.
#include "weft/cli/commands/run_summary.h"

#include <utility>
#include <vector>

#include <ATen/ops/isfinite.h>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/checkpoint/tensors.h"
#include "weft/cli/commands/table.h"
#include "weft/cli/output.h"
#include "weft/cli/watched_progress.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/formats/json_lines.h"
#include "weft/formats/json_members.h"
#include "weft/text/hugging_face.h"
#include "weft/training/run/metrics_log.h"
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
void add_task_rows(const Run& run, Rows& rows) {
  rows.emplace_back("task", formats::value_of<std::string>(run.config, "task", run.training));
  const bool of_text = !run.config.contains("train_data");
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

Rows model_rows(const models::TransformerConfig& config, std::int64_t parameters) {
  const std::string kind = config.is_decoder ? "decoder" : "encoder";
  return {{"model", concat("weft ", kind, ", ", digits(parameters), " parameters")},
          {"shape", concat(counted(config.num_hidden_layers, "layer"), ", width ", config.hidden_size, ", ",
                           counted(config.num_attention_heads, "head"), ", feed-forward ", config.feed_forward_size(),
                           " (", config.hidden_act, ")")},
          {"positions",
           concat(config.position_embedding, ", made for ", digits(config.max_position_embeddings), " tokens")},
          {"vocabulary", concat(config.tokenizer_class, ", ", digits(config.vocab_size), " ids")}};
}

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

Rows run_rows(const Json& json, const fs::path& directory) {
  const std::int64_t step = json.value("step", std::int64_t{0});
  const training::Checkpoint newest{step, training::checkpoint_path(directory, step), nullptr};
  const Run run = {json, json.at("config"), quote((directory / "training.json").native(), 4096), newest.where()};
  Rows rows;
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

namespace {

using formats::Json;

std::string labels_text(const Json& labels) {
  return joined(labels, ", ", [](const Json& label) { return label.get<std::string>(); });
}

bool has_labels(models::Head head) {
  return head == models::Head::kSequenceClassification || head == models::Head::kTokenClassification;
}

}  // namespace

Json encoder_summary(const checkpoint::OpenedModel& directory) {
  const models::EncoderConfig config = checkpoint::load_encoder_config(directory);
  const models::Head head = directory.head();
  const models::EncoderModel model(config, head, models::EncoderOptions{}, at::TensorOptions().device(at::kMeta));
  Json summary = {{"family", config.model_type},
                  {"kind", "encoder"},
                  {"head", models::to_string(head)},
                  {"parameters", model->parameter_count()},
                  {"layers", config.num_hidden_layers},
                  {"width", config.hidden_size},
                  {"heads", config.num_attention_heads},
                  {"feed_forward", config.intermediate_size},
                  {"positions", config.maximum_length()},
                  {"vocabulary", config.vocab_size},
                  {"labels", has_labels(head) ? Json(config.id2label) : Json::array()},
                  {"tokenizer", text::HuggingFaceTokenizer::present_in(directory.path())}};
  if (checkpoint::is_cross_encoder(directory)) {
    const checkpoint::CrossEncoderSettings settings = checkpoint::read_cross_encoder(directory);
    summary["rerank"] = {{"activation", settings.activation}, {"prompt", settings.prompt}};
  }
  for (const auto& [name, value] : model->computed()) {
    summary[name] = value;
  }
  return summary;
}

Rows encoder_rows(const Json& summary) {
  const auto number = [&](const char* name) { return digits(summary.at(name).get<std::int64_t>()); };
  const auto count = [&](const char* name, const char* noun) {
    return counted(summary.at(name).get<std::int64_t>(), noun);
  };
  Rows rows = {
      {"model", concat(summary.at("family").get<std::string>(), " encoder, ", number("parameters"), " parameters")},
      {"head", summary.at("head").get<std::string>()},
      {"shape", concat(count("layers", "layer"), ", width ", number("width"), ", ", count("heads", "head"),
                       ", feed-forward ", number("feed_forward"))},
      {"positions", number("positions") + " tokens"},
      {"vocabulary", concat(number("vocabulary"), " ids, ",
                            summary.at("tokenizer").get<bool>() ? "with a tokeniser" : "no tokeniser's files")}};
  if (!summary.at("labels").empty()) {
    rows.emplace_back("labels", labels_text(summary["labels"]));
  }
  if (const auto rerank = summary.find("rerank"); rerank != summary.end()) {
    const auto activation = rerank->at("activation").get<std::string>();
    rows.emplace_back("reranks", concat("texts for a query (weft rerank); ",
                                        activation.substr(activation.rfind('.') + 1), " makes scores of logits"));
  }
  // What the model would compute comes last, under the names that results have.
  for (const auto& [name, value] : summary.items()) {
    if (value.is_string() && name != "family" && name != "kind" && name != "head") {
      rows.emplace_back(name, value.get<std::string>());
    }
  }
  return rows;
}

namespace {

using formats::Json;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "scalar" : joined(shape, " x ", [](std::int64_t size) { return std::to_string(size); });
}

std::int64_t element_count(const formats::TensorInfo& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    count *= size;
  }
  return count;
}

}  // namespace

std::int64_t element_count(const formats::TensorFile& file) {
  std::int64_t count = 0;
  for (const formats::TensorInfo& tensor : file.tensors()) {
    count += element_count(tensor);
  }
  return count;
}

Json tensors_json(const formats::TensorFile& file) {
  Json tensors = Json::array();
  for (const formats::TensorInfo& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name}, {"dtype", formats::dtype_name(tensor.dtype)}, {"shape", tensor.shape}});
  }
  return tensors;
}

std::string tensors_text(const formats::TensorFile& file) {
  Rows rows;
  for (const formats::TensorInfo& tensor : file.tensors()) {
    rows.emplace_back(tensor.name, concat(formats::dtype_name(tensor.dtype), "  ", shape_text(tensor.shape)));
  }
  return "tensors\n" + name_table(rows, "  ");
}

Json not_finite_json(const formats::TensorFile& file) {
  const BusyBar bar("reading weights");
  Json found = Json::array();
  for (const formats::TensorInfo& info : file.tensors()) {
    const at::Tensor tensor = checkpoint::read_tensor(file, info);
    const std::int64_t finite = at::isfinite(tensor).sum().item<std::int64_t>();
    if (finite < tensor.numel()) {
      found.push_back({{"name", info.name}, {"not_finite", tensor.numel() - finite}});
    }
  }
  return found;
}

std::string not_finite_text(const Json& found) {
  if (found.empty()) {
    return "every weight is finite\n";
  }
  Rows rows;
  for (const Json& tensor : found) {
    rows.emplace_back(tensor.at("name").get<std::string>(), digits(tensor.at("not_finite").get<std::int64_t>()));
  }
  return "NaN or infinite\n" + name_table(rows, "  ");
}

}  // namespace weft::cli
