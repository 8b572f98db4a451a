// SPDX-License-Identifier: Apache-2.0
// One flat JSON object serves all configs of a run: no field name is in two lists, but for those that mean the same.
#include "weft/runs/train/request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "weft/checkpoint/open_model.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/json_members.h"
#include "weft/hub/models.h"
#include "weft/models/transformer_config.h"
#include "weft/profile/prune/attention_file.h"
#include "weft/runs/train/conditions.h"
#include "weft/training/distillation/config.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/run_directory.h"
#include "weft/training/text_config.h"

namespace weft::runs {
namespace {

namespace fs = std::filesystem;
using checkpoint::Ability;
using checkpoint::Way;
using formats::Json;

// The names of the fields of every config that a run has.
std::vector<std::string_view> known_fields() {
  std::vector<std::string_view> known;
  for (const auto& names : {field_names<training::TrainerConfig>(), field_names<training::TextConfig>(),
                            field_names<models::TransformerConfig>(), field_names<fine_tuning::FineTuningConfig>(),
                            field_names<fine_tuning::DataSettings>(), field_names<fine_tuning::PairConfig>(),
                            field_names<fine_tuning::RetrievalConfig>(), field_names<training::DistillationConfig>(),
                            field_names<models::EncoderDecoderConfig>()}) {
    known.insert(known.end(), names.begin(), names.end());
  }
  return known;
}

struct Fields {
  Json all;      // the config file's, with those that are given laid over them
  Json of_file;  // those that somebody wrote there: none of a file that a run wrote, which has every field
};

// Checked by name only.
Fields merged_fields(const TrainOptions& options) {
  const std::string& file = options.config_file;
  const std::vector<std::string_view> known = known_fields();
  formats::check_keys(options.given, "weft train", known, {});
  Json fields = Json::object();
  Json of_file = Json::object();
  if (!file.empty()) {
    fields = formats::read_json(named_by_user(file));
    // What a run's own files hold besides fields: they are taken as config files, too.
    const std::initializer_list<std::string_view> no_fields = {"architectures", "model_type", "weft_version",
                                                               "torch_version"};
    formats::check_keys(fields, file, known, no_fields);
    const bool is_of_run = fields.contains("weft_version");
    for (const std::string_view name : no_fields) {
      fields.erase(std::string(name));
    }
    if (!is_of_run) {
      of_file = fields;
    }
  }
  std::vector<std::string> read;
  for (const auto& [name, value] : fields.items()) {
    if (!options.given.contains(name)) {
      read.push_back(name);
    }
  }
  if (options.heard) {
    options.heard(file, read);
  }
  fields.update(options.given);
  return {fields, of_file};
}

// The task that a run's training.json, or a config file of that form, names; nothing where it names none or is not
// there.
std::string task_in(const FilePlace& file) {
  if (!file.exists()) {
    return {};
  }
  return formats::value_or(formats::read_json_object(file), "task", quote(file.path().native(), 4096), std::string());
}

// Whether a config file, such as that of a run's model, is of an encoder.
bool holds_encoder(const std::string& file) {
  return !file.empty() &&
         !formats::value_or(formats::read_json_object(named_by_user(file)), "is_decoder", quote(file, 4096), true);
}

fs::path seed_directory(const TrainOptions& options, std::int64_t seed) {
  return fs::path(options.out) / concat("seed-", seed);
}

// What is given, or the task of the run that is resumed, or the config file; else a language model.
std::string task_of(const TrainOptions& options) {
  if (!options.task.empty()) {
    return options.task;
  }
  std::string found;
  if (options.resume) {
    const auto seed = options.given.value("seed", std::int64_t{0});
    found =
        task_in(ModelFile(options.seeds > 1 ? seed_directory(options, seed) : fs::path(options.out), "training.json"));
  }
  if (found.empty() && !options.config_file.empty()) {
    found = task_in(named_by_user(options.config_file));
  }
  if (found.empty()) {
    return options.encoder || holds_encoder(options.config_file) ? "mlm" : "lm";
  }
  check_choice("weft train", "task", {task_names().begin(), task_names().end()}, found);
  return found;
}

// What somebody wrote: the shape of a run's own file may serve the other task.
void check_direction(const std::string& task, const Json& of_file, const std::string& file) {
  if ((task != "lm" && task != "mlm") || !of_file.contains("is_decoder")) {
    return;
  }
  const bool is_decoder = formats::value_of<bool>(of_file, "is_decoder", quote(file, 4096));
  if (is_decoder != (task == "lm")) {
    throw Error(ErrorKind::kArgument,
                concat(quote(file, 4096), ": is_decoder ", is_decoder ? "true" : "false", " is for ", option("task"),
                       is_decoder ? " lm" : " mlm", ", found ", option("task"), " ", task),
                "leave it out: the task decides it");
  }
}

std::string model_of(const Json& fields) { return formats::value_or(fields, "model", "weft train", std::string()); }

// Errors: UsageError for what another directory decides.
void check_free_options(const TrainOptions& options, const std::string& task, const Json& fields, bool resumed) {
  const bool has_tokenizer = !options.tokenizer_file.empty();
  if (fine_tuning::is_fine_tuning_task(task) && (options.encoder || has_tokenizer)) {
    throw UsageError(concat(option("encoder"), " and ", option("tokenizer"), " are for lm and mlm: ", option("model"),
                            " names a directory that has both"));
  }
  if (options.encoder && task != "mlm") {
    throw UsageError(concat(option("encoder"), " trains an encoder on masked tokens, but the task is ", task),
                     "leave it out");
  }
  if (resumed && has_tokenizer) {
    throw UsageError(concat(option("tokenizer"), " cannot be given with ", option("resume"), ": a run keeps its own"));
  }
  if (!model_of(fields).empty() && has_tokenizer) {
    throw UsageError(concat(option("tokenizer"), " cannot be given with ", option("model"), ": the model has its own"));
  }
}

// Errors: UsageError where another task is asked for than that of the model.
void check_resumed_model(const TrainOptions& options, const checkpoint::OpenedModel& model) {
  const std::string learns = model.facts().reads.is_causal ? "lm" : "mlm";
  const std::string asked = options.encoder ? "mlm" : options.task;
  if (!asked.empty() && asked != learns) {
    throw UsageError(
        concat(option(options.encoder ? "encoder" : "task"), options.encoder ? "" : " " + asked,
               " was given, but the model of the run in ", quote(model.root().string(), 4096), " learns ", learns),
        "leave it out: the run keeps its task");
  }
}

// How a model goes on to learn text, and how its run is resumed.
constexpr std::array kFurther{Way<Training>{Ability::kPredict, Training::kFurtherModel},
                              Way<Training>{Ability::kDraw, Training::kFurtherModel},
                              Way<Training>{Ability::kRead, Training::kFurtherEncoder}};
constexpr std::array kResumed{Way<Training>{Ability::kPredict, Training::kResumedModel},
                              Way<Training>{Ability::kDraw, Training::kResumedModel},
                              Way<Training>{Ability::kRead, Training::kResumedEncoder}};

// The one decision. `model` is that of a run to resume, or that it begins with.
Training training_of(const std::string& task, bool resumed, const std::optional<checkpoint::OpenedModel>& model) {
  if (fine_tuning::is_pair_task(task)) {
    return resumed ? Training::kResumedPairs : Training::kPairs;
  }
  if (fine_tuning::is_fine_tuning_task(task)) {
    return resumed ? Training::kResumedFineTuning : Training::kFineTuning;
  }
  if (!model) {
    return resumed ? Training::kResumedModel : Training::kNewModel;
  }
  return way_of(*model, resumed ? kResumed : kFurther);
}

bool learns_text(const std::string& task) { return task == "lm" || task == "mlm"; }

// The model of a run that learns text: of the one in `out` that is resumed, or that it begins with.
std::optional<checkpoint::OpenedModel> opened_for(const std::string& task, const Json& fields, const fs::path& out,
                                                  bool resumed) {
  const fs::path directory = resumed ? out : fs::path(model_of(fields));
  const bool there = resumed ? ModelFile(out, "config.json").exists() : !directory.empty();
  return learns_text(task) && there ? std::optional(checkpoint::open_model(directory)) : std::nullopt;
}

// As training.json of an earlier version has them, unused; denoise reads plain texts.
void erase_text_fields(const std::string& task, Json& fields) {
  for (const std::string_view name : text_fields()) {
    if (task != "denoise" || (name != "train_text" && name != "eval_text")) {
      fields.erase(std::string(name));
    }
  }
}

// One run in `out`; one that is resumed goes on where it is there.
TrainRequest run_request(const TrainOptions& options, const std::string& task, const Json& fields,
                         const fs::path& out) {
  const bool resumed = options.resume && (options.seeds == 1 || fs::exists(out));
  check_free_options(options, task, fields, resumed);
  TrainRequest request;
  request.model = opened_for(task, fields, out, resumed);
  request.training = training_of(task, resumed, request.model);
  if (request.training == Training::kResumedModel && request.model) {
    check_resumed_model(options, *request.model);
  }
  request.task = task;
  request.out = out.string();
  request.heard = options.heard;
  request.fields = fields;
  request.tokenizer_file = options.tokenizer_file;
  // An expression of the config file's names files beside it, one that is given in the working directory.
  const bool is_from_file = !options.given.contains("attention");
  request.beside = is_from_file ? fs::path(options.config_file).parent_path() : fs::path();
  if (learns_text(task) && request.training == Training::kNewModel) {
    request.fields["is_decoder"] = task == "lm";
  }
  if (fine_tuning::is_fine_tuning_task(task) || fine_tuning::is_pair_task(task)) {
    erase_text_fields(task, request.fields);
    request.fields["task"] = task;
  }
  // Before the first run of several: a taken folder would be found only when the runs before it are done.
  if (options.seeds > 1 && !is_resumed(request.training) && training::processes().is_first()) {
    training::RunDirectory::check_free(out);
  }
  return request;
}

bool predicts(const checkpoint::OpenedModel& model) {
  return model.can(Ability::kPredict) || model.can(Ability::kDraw);
}

// The folder of the graphs that the patterns of an attention "@FILE" name, which are then in `fields`; empty without
// one.
fs::path read_attention_file(Json& fields, const std::string& task) {
  const bool pairs = fine_tuning::is_pair_task(task);
  const std::optional<profile::AttentionFile> file = profile::take_attention_file(fields, pairs);
  if (!file) {
    return {};
  }
  const std::string directory = model_of(fields);
  const auto model = directory.empty() ? std::nullopt : std::optional(checkpoint::open_model(directory));
  if (fine_tuning::is_fine_tuning_task(task) || (model && !predicts(*model) && model->can(Ability::kRead))) {
    throw UsageError(
        concat(option("attention"), " @FILE is for models of weft train; an encoder of Hugging Face keeps one list of ",
               "patterns in its config.json"),
        "make an encoder with these patterns first: weft convert DIR --attention @FILE --out NEW");
  }
  if (model) {
    if (pairs) {
      file->check_pair(model->facts(Ability::kWrite));
    }
    profile::warn_of_other_model(*file, directory);
  } else if (!pairs) {
    const models::TransformerConfig defaults;
    file->of_stack(formats::value_or(fields, "num_hidden_layers", "weft train", defaults.num_hidden_layers),
                   formats::value_or(fields, "num_attention_heads", "weft train", defaults.num_attention_heads));
  }
  return file->graphs();
}

TrainRequest with_graphs(TrainRequest request, const fs::path& graphs) {
  request.is_pruned = !graphs.empty();
  request.beside = request.is_pruned ? graphs : request.beside;
  return request;
}

// One run, or one a seed, in the order of the seeds.
std::vector<TrainRequest> requests_of(const TrainOptions& options, const std::string& task, Json fields,
                                      const fs::path& graphs) {
  if (options.seeds == 1) {
    return {with_graphs(run_request(options, task, fields, options.out), graphs)};
  }
  const auto first = formats::value_or(fields, "seed", "weft train", std::int64_t{0});
  if (first > std::numeric_limits<std::int64_t>::max() - options.seeds) {
    throw UsageError(concat(option("seed"), " ", first, " with ", option("seeds"), " ", options.seeds,
                            ": not so many seeds follow it"));
  }
  std::vector<TrainRequest> requests;
  for (std::int64_t seed = first; seed < first + options.seeds; ++seed) {
    fields["seed"] = seed;
    requests.push_back(with_graphs(run_request(options, task, fields, seed_directory(options, seed)), graphs));
  }
  return requests;
}

}  // namespace

bool is_resumed(Training training) {
  return training == Training::kResumedModel || training == Training::kResumedEncoder ||
         training == Training::kResumedFineTuning || training == Training::kResumedPairs;
}

std::vector<TrainRequest> decide(const TrainOptions& options) {
  const std::string task = task_of(options);
  check_fields_of_task(task, options.given, options.given.contains("model"));  // before a file is read
  auto [fields, of_file] = merged_fields(options);
  const bool goes_on = !model_of(fields).empty();
  check_fields_of_task(task, options.given, goes_on);
  check_fields_of_task(task, of_file, goes_on, options.config_file);
  check_direction(task, of_file, options.config_file);
  if (!options.resume && !model_of(fields).empty()) {  // a run that is resumed has its model in itself
    fields["model"] = hub::local_model(model_of(fields)).string();
  }
  if (const auto teacher = formats::value_or(fields, "distill", "weft train", std::string()); !teacher.empty()) {
    fields["distill"] = hub::local_model(teacher).string();
  }
  const std::filesystem::path graphs = read_attention_file(fields, task);
  std::vector<TrainRequest> requests = requests_of(options, task, std::move(fields), graphs);
  Json written = std::move(of_file);
  written.update(options.given);
  for (const TrainRequest& request : requests) {
    check_given_conditions(request, written);
  }
  return requests;
}

}  // namespace weft::runs
