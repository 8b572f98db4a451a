// SPDX-License-Identifier: Apache-2.0
// `weft eval`: which of three measurements the flags and the model ask for, a language model's, a task's or that of
// pairs.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/evaluation/eval_pairs.h"
#include "weft/cli/evaluation/eval_task.h"
#include "weft/cli/evaluation/language_figures.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/short_help.h"
#include "weft/cli/front/threads.h"
#include "weft/cli/training/task_flags.h"
#include "weft/core/work/watched_progress.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/formats/field_conditions.h"
#include "weft/runs/evaluate/language.h"
#include "weft/runs/evaluate/task_of_model.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::string_view kEvalExamples =
    "  weft eval run --text held-out.txt\n"
    "  weft eval run --text books/val --context 256 --max-bytes 1000000 --json\n"
    "  weft eval run --text held-out.txt --context 128 --memory 3800\n"
    "  weft eval run --text held-out.txt --attention 'lsh(causal=rank, rounds=8)'\n"
    "  weft eval run --images pictures/val\n"
    "  weft eval run --data test.tsv --predictions predictions.jsonl\n"
    "  weft eval de-en --source val.de --target val.en --attention @prune.json";

struct EvalOptions {
  std::string run;
  EvalTaskOptions task;
  EvalPairsOptions pairs;
  Json given = formats::Json::object();
  std::string weights = "stored";
  MachineFlags machine;
  bool json = false;
};

// Errors: UsageError for what names columns where sources and targets are files of lines.
void check_columns(const runs::PairsAsked& asked) {
  std::string flag = asked.given.value("header", true) ? "" : "--no-header";
  for (const char* name : {"source_field", "target_field"}) {
    flag = asked.given.contains(name) ? flag_name(name) : flag;
  }
  if (asked.data.empty() && !flag.empty()) {
    throw UsageError(concat(flag, " is for the tables and JSON of --data, and there is none"), "leave it out");
  }
}

void run_pairs(const EvalOptions& options, const checkpoint::ModelOnDemand& model) {
  EvalPairsOptions pairs = options.pairs;
  pairs.asked.run = options.run;
  pairs.asked.task = options.task.task;
  pairs.asked.data = options.task.data;
  pairs.predictions = options.task.predictions;
  pairs.asked.heard = note_config_file;
  pairs.json = options.json;
  for (const auto& [name, value] : options.given.items()) {
    if (name == "dtype") {
      pairs.asked.dtype = value.get<std::string>();
    } else if (name == "attention") {
      pairs.asked.attention = value.get<std::vector<std::string>>();
    } else {
      throw UsageError(concat(flag_name(name), " is for language models, but --task is ", pairs.asked.task),
                       "pairs come from --source and --target, or --data");
    }
  }
  for (const auto& [name, value] : options.task.examples.items()) {
    const auto known = field_names<fine_tuning::PairConfig>();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError(concat(flag_name(name), " is not for --task ", pairs.asked.task));
    }
    pairs.asked.given[name] = value;
  }
  check_columns(pairs.asked);
  apply_machine(options.machine);
  eval_pairs(pairs, model);
}

void run_task(const EvalOptions& options, const checkpoint::ModelOnDemand& model) {
  EvalTaskOptions task = options.task;
  task.run = options.run;
  task.json = options.json;
  for (const auto& [name, value] : options.given.items()) {
    if (name != "dtype") {
      throw UsageError(concat(flag_name(name), " is for language models, but --task is ", task.task),
                       "a task reads its examples from --data PATH");
    }
    task.dtype = value.get<std::string>();
  }
  apply_machine(options.machine);
  eval_task(task, model);
}

// The task whose input is missing, so that the error asks for that one's; empty for a language model.
std::string task_without_input(const std::string& run, const checkpoint::ModelOnDemand& model) {
  const std::string learned = runs::learned_task(run);
  const bool has_examples =
      learned.empty() && (model.get().can(checkpoint::Ability::kWrite) || !runs::task_of_head(model.get()).empty());
  return has_examples ? runs::task_of_model(run, model) : learned;
}

// Labelled data are for the task that the model learned, unless another is given.
EvalOptions with_task(EvalOptions options, const checkpoint::ModelOnDemand& model) {
  const bool has_examples =
      !options.task.data.empty() || !options.pairs.asked.source.empty() || !options.pairs.asked.target.empty();
  const bool has_text =
      options.given.contains("text") || options.given.contains("images") || options.given.contains("audio");
  if (options.task.task.empty() && (has_examples || !has_text)) {
    options.task.task = has_examples ? runs::task_of_model(options.run, model) : task_without_input(options.run, model);
  }
  return options;
}

void ask_for_weights(const EvalOptions& options, const checkpoint::ModelOnDemand& model) {
  if (options.weights == "int8") {
    model.get().ask_for_int8();
  }
}

void run_eval(const EvalOptions& given) {
  const checkpoint::ModelOnDemand model(given.run);
  const EvalOptions options = with_task(given, model);
  ask_for_weights(options, model);
  if (fine_tuning::is_pair_task(options.task.task)) {
    run_pairs(options, model);
    return;
  }
  if (!options.pairs.asked.given.empty() || !options.pairs.asked.source.empty() ||
      !options.pairs.asked.target.empty()) {
    throw UsageError("--source, --target and what belongs to them are for --task translate and summarize");
  }
  if (!options.task.task.empty() && options.task.task != "lm" && options.task.task != "mlm") {
    run_task(options, model);
    return;
  }
  if (!options.task.data.empty() || !options.task.predictions.empty()) {
    throw UsageError(concat(options.task.data.empty() ? "--predictions" : "--data",
                            " is for tasks with labelled examples, and language models are scored on plain text"),
                     concat("for example: weft eval ", options.run, " --data test.tsv; or --text PATH, and ",
                            "--token-scores FILE for each token of a decoder"));
  }
  if (!options.task.examples.empty()) {
    throw UsageError(concat(flag_name(options.task.examples.begin().key()),
                            " is for tasks with labelled examples, and language models are scored on plain text"));
  }
  runs::LanguageConfig config;
  formats::update_from_json(config, options.given, "weft eval");
  formats::check_given_conditions<runs::LanguageConfig>(options.given, formats::to_json(config), "weft eval");
  const int kinds = static_cast<int>(!config.text.empty()) + static_cast<int>(!config.images.empty()) +
                    static_cast<int>(!config.audio.empty());
  if (kinds != 1) {
    throw UsageError(kinds == 0 ? "weft eval needs --text PATH"
                                : "weft eval scores one of --text, --images and --audio, found several",
                     "for example: weft eval " + options.run + " --text held-out.txt; or --images PATH, --audio PATH");
  }
  apply_machine(options.machine);
  const checkpoint::OpenedModel& opened = model.get();
  WatchedProgress progress("evaluating", "tokens");
  const Json result = runs::evaluate_language(opened, options.task.task, config, progress.callback());
  progress.finish();
  if (options.json) {
    print_json(result);
  } else {
    std::cout << language_figures(result);
  }
}

}  // namespace

void add_eval(CLI::App& parent) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App& app = add_command(parent, "eval", std::string(kEvalExamples));
  add_model_argument(app, "RUN", options->run, "run or model directory").required();
  app.add_option(
         "--task", options->task.task,
         "what to measure. A decoder (lm) scores each byte of --text once, after at least half a context; a masked "
         "language model (mlm) is asked for masked tokens of --text. The other tasks measure a fine-tuned model on the "
         "examples of --data. Without this flag it is the task that the run learned, or that the model's head is for")
      ->check(one_of("--task", runs::task_names()))
      ->option_text("NAME");
  add_fields<runs::LanguageConfig>(app, {.title = "Options"}, options->given);
  app.add_option("--data", options->task.data, "labelled files and folders, in the formats of weft train --train-data")
      ->option_text("PATH...")
      ->group("Data of a task");
  app.add_option("--predictions", options->task.predictions,
                 "file to write: a line of JSON for each example, with where it is from (file, line, id, text), the "
                 "prediction and the truth")
      ->option_text("FILE")
      ->group("Data of a task");
  add_pair_flags_of_eval(app, options->pairs);
  add_example_flags(app, options->task.examples);
  app.add_option("--weights", options->weights,
                 "how linear layers and the tables of tokens keep their weights: stored as the model has them, or as "
                 "int8 with a scale a row (default stored)")
      ->check(one_of("--weights", {"stored", "int8"}))
      ->option_text("stored|int8")
      ->group("Options");
  add_machine_flags(app, options->machine);
  add_json_flag(app, options->json);
  show_first(
      app, {.flags = {"--text", "--data", "--source", "--target", "--task", "--predictions", "--context", "--max-bytes",
                      "--attention", "--dtype", "--weights", "--token-scores", "--threads", "--json"}});
  app.callback([options] { run_eval(*options); });
}

}  // namespace weft::cli
