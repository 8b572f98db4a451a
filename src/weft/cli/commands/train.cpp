// SPDX-License-Identifier: Apache-2.0
// `weft train`: data in, a trained model and its held-out figures out. Says first what will be computed. Language
// models are trained here, other tasks by cli/fine_tuning.
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/cli/commands/run_summary.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/failure.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/fine_tuning/fine_tuning_flags.h"
#include "weft/cli/fine_tuning/train_task.h"
#include "weft/cli/fine_tuning/train_text.h"
#include "weft/cli/help.h"
#include "weft/cli/output.h"
#include "weft/cli/report/seed_statistics.h"
#include "weft/cli/threads.h"
#include "weft/cli/training/announcement.h"
#include "weft/cli/training/train_config.h"
#include "weft/cli/training/train_result.h"
#include "weft/core/files.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/settings.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/train_language_model.h"

namespace weft::cli {
namespace {

using formats::Json;
constexpr std::string_view kTrainExamples =
    "  weft train --train-text books/train --eval-text books/val --attention 'strided(256)' --context 4096 \\\n"
    "    --layers 6 --width 256 --heads 4 --minutes 5 --out run\n"
    "  weft train --train-text corpus.txt --attention 'window(left=512) | global(8, side=keys)' --steps 1000 --out "
    "run\n"
    "  weft train --task classify --model bert-base-uncased --train-data train.tsv --eval-data dev.tsv --epochs 3 \\\n"
    "    --out run\n"
    "  weft train --config run/training.json --steps 2000 --out other\n"
    "  weft train --resume --out run\n"
    "  torchrun --no-python --nproc-per-node 2 weft train --train-text books/train --steps 1000 --out run";

struct TrainOptions {
  std::string out;
  std::string config_file;
  std::string tokenizer_file;
  std::string task;
  Json given = Json::object();
  bool encoder = false;
  std::int64_t seeds = 1;
  bool resume = false;
  bool json = false;
};

bool goes_on_from_a_model(const Json& fields) {
  const auto found = fields.find("model");
  return found != fields.end() && found->is_string() && !found->get_ref<const std::string&>().empty();
}

// Everything that can be refused is refused before the first line is announced.
training::TrainResult start(const TrainOptions& options, const Json& fields, std::int64_t threads) {
  if (goes_on_from_a_model(fields)) {
    if (!options.tokenizer_file.empty()) {
      throw UsageError("--tokenizer cannot be given with --model: the model has its own");
    }
    return train_text_further(options.task, options.out, fields, threads);
  }
  // An expression of the config file's names files beside it, one of the command line in the working directory.
  const bool is_from_file = !options.given.contains("attention");
  const std::filesystem::path beside = std::filesystem::path(options.config_file).parent_path();
  const TrainPlan plan = plan_training(fields, options.tokenizer_file, is_from_file ? beside : "");
  if (training::processes().is_first()) {
    training::RunDirectory::check_free(options.out);
    announce(plan.trainer, plan.model, threads);
  }
  return training::train_language_model(options.out, plan.trainer, plan.model, plan.tokenizer);
}

training::TrainResult resume(const TrainOptions& options, const Json& fields, std::int64_t threads) {
  if (!options.tokenizer_file.empty()) {
    throw UsageError("--tokenizer cannot be given with --resume: a run keeps its own");
  }
  if (std::filesystem::exists(options.out + "/config.json") && checkpoint::is_encoder_directory(options.out)) {
    return resume_text(options.out, fields, threads);
  }
  // Announced from what the run says of itself and the length that is given; resume_language_model() then holds the
  // given fields to the run.
  const std::optional<Json> run = run_json(options.out);
  if (run && run->contains("step") && training::processes().is_first()) {
    training::TrainerConfig trainer;
    Json settings = only_fields_of<training::TrainerConfig>(run->at("config"));
    for (const char* length : {"steps", "minutes"}) {
      if (fields.contains(length)) {
        settings[length] = fields[length];
      }
    }
    formats::update_from_json(trainer, settings, quote(options.out + "/training.json", 4096));
    announce(trainer, checkpoint::load_config(options.out), threads);
    std::cerr << "resuming after step " << digits(run->at("step").get<std::int64_t>()) << std::endl;
  }
  return training::resume_language_model(options.out, fields);
}

// Every process trains; one speaks.
training::TrainResult train(const TrainOptions& options, const Json& fields, std::int64_t threads) {
  if (fine_tuning::is_fine_tuning_task(options.task)) {
    return options.resume ? resume_task(options.out, fields, threads) : train_task(options.out, fields, threads);
  }
  return options.resume ? resume(options, fields, threads) : start(options, fields, threads);
}

std::filesystem::path seed_directory(const TrainOptions& options, std::int64_t seed) {
  return std::filesystem::path(options.out) / concat("seed-", seed);
}

// Before the first run: a seed whose folder is taken would be found only when the runs before it are done.
void check_seeds(const TrainOptions& options, std::int64_t first) {
  if (first > std::numeric_limits<std::int64_t>::max() - options.seeds) {
    throw UsageError(
        concat("--seed ", first, " with --seeds ", options.seeds, ": there are not so many seeds behind it"));
  }
  for (std::int64_t seed = first; !options.resume && training::processes().is_first() && seed < first + options.seeds;
       ++seed) {
    training::RunDirectory::check_free(seed_directory(options, seed));
  }
}

// One run a seed, in seed-N of the directory; with --resume those that are there go on, and the others begin.
void train_seeds(const TrainOptions& options, const Json& fields, std::int64_t threads) {
  std::vector<Json> runs;
  std::vector<Json> evaluations;
  const auto first = fields.value("seed", std::int64_t{0});
  check_seeds(options, first);
  for (std::int64_t seed = first; seed < first + options.seeds; ++seed) {
    TrainOptions one = options;
    one.out = seed_directory(options, seed).string();
    one.resume = options.resume && std::filesystem::exists(one.out);
    Json its_fields = fields;
    its_fields["seed"] = seed;
    const training::TrainResult result = train(one, its_fields, threads);
    runs.push_back(result_json(one.out, result));
    evaluations.push_back(result.evaluation);
    evaluations.back()["train_loss"] = result.loss;
  }
  if (!training::processes().is_first()) {
    return;
  }
  const Json report = {{"runs", runs}, {"figures", seed_statistics(evaluations)}};
  write_file_atomically(std::filesystem::path(options.out) / "seeds.json", report.dump(2) + "\n");
  if (options.json) {
    print_json(report);
    return;
  }
  Rows rows = {{"runs", concat(options.seeds, " seeds from ", first, " on, in ", options.out)}};
  for (const auto& [name, figure] : report["figures"].items()) {
    rows.emplace_back(
        name, concat(fixed(figure["mean"].get<double>(), 4), " +- ", fixed(figure["deviation"].get<double>(), 4)));
  }
  std::cout << name_table(rows);
}

// What --task says, or the run that goes on, or the config file; else a language model.
std::string settled_task(const TrainOptions& options) {
  if (!options.task.empty()) {
    return options.task;
  }
  std::string found;
  if (options.resume) {
    const std::string seed = concat("seed-", options.given.value("seed", std::int64_t{0}));
    found = task_in(std::filesystem::path(options.out) / (options.seeds > 1 ? seed : "") / "training.json");
  }
  if (found.empty() && !options.config_file.empty()) {
    found = task_in(options.config_file);
  }
  return !found.empty() ? found : options.encoder ? "mlm" : "lm";
}

// The fields of the task: what a language model's and a fine-tuning run's have in common, each with its own.
Json settled_fields(const TrainOptions& options) {
  check_flags_of_task(options.task, options.given);
  Json fields = merged_fields(options.config_file, options.given);
  const bool anew = !options.resume && !goes_on_from_a_model(fields);
  if (options.task == "mlm" && anew) {
    fields["is_decoder"] = false;
  }
  if (fine_tuning::is_fine_tuning_task(options.task)) {
    if (options.encoder || !options.tokenizer_file.empty()) {
      throw UsageError("--encoder and --tokenizer are for lm and mlm: --model names a directory that has both");
    }
    for (const std::string_view name : text_fields()) {  // as a run's training.json has them, unused
      fields.erase(std::string(name));
    }
    fields["task"] = options.task;
  }
  return fields;
}

void train_as_asked(const TrainOptions& given) {
  TrainOptions options = given;
  options.task = settled_task(given);
  const Json fields = settled_fields(options);
  // --threads is a field of the run: the trainer settles it, WEFT_THREADS stands in.
  const std::int64_t threads = settle_threads(0);
  if (options.seeds > 1) {
    train_seeds(options, fields, threads);
    training::processes().meet();
    return;
  }
  const training::TrainResult result = train(options, fields, threads);
  training::processes().meet();
  if (!training::processes().is_first()) {
    return;
  }
  if (options.json) {
    print_json(result_json(options.out, result));
  } else {
    std::cout << result_text(options.out, result, fine_tuning::is_fine_tuning_task(options.task));
  }
}

// A process that fails lets the others know why they end.
void run_train(const TrainOptions& options) {
  const training::JoinedProcesses joined;
  if (!training::processes().is_first()) {
    silence_progress();
  }
  try {
    train_as_asked(options);
  } catch (const std::exception& error) {
    training::processes().announce_failure(error.what());
    throw;
  }
}

}  // namespace

void add_train(CLI::App& parent) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App& app = add_command(parent, "train", std::string(kTrainExamples));
  app.add_option("--out", options->out, "run directory to make, or to go on with")->required()->option_text("RUN");
  app.add_flag(
      "--resume", options->resume,
      "go on with the run in --out. Flags that are given again must have the values of the run; --steps, --minutes and "
      "--epochs may make it longer");
  app.add_option("--seeds", options->seeds,
                 "number of runs: one with --seed and one with each seed that follows, in RUN/seed-N; prints mean and "
                 "deviation of "
                 "every figure (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10000}))
      ->option_text("N");
  app.add_option("--config", options->config_file, "JSON file with any of the fields below, as field_name; flags win")
      ->option_text("FILE");
  app.add_option("--tokenizer", options->tokenizer_file,
                 "SentencePiece model, tokenizer.json, or a folder of `weft tokenizer train` or Hugging Face; without "
                 "one the 256 bytes are the vocabulary")
      ->option_text("PATH");
  app.add_option("--task", options->task,
                 "lm (a decoder; the default) and mlm (an encoder) learn from --train-text, the others from "
                 "--train-data, beginning with --model")
      ->check(one_of("--task", task_names()))
      ->option_text("NAME");
  app.add_flag("--encoder", options->encoder, "the same as --task mlm");
  add_json_flag(app, options->json);
  add_fields<training::TrainerConfig>(
      app, {.title = "Training", .left_out = text_fields(), .remarks = fine_tuning_remarks()}, options->given);
  add_fine_tuning_flags(app, options->given);
  add_fields<training::TrainerConfig>(app, {.title = "Text (lm, mlm)", .only = text_fields()}, options->given);
  add_fields<models::TransformerConfig>(
      app,
      {.title = "Model (lm, mlm; --attention and --gradient-checkpointing for all tasks)",
       .aliases = {{"num_hidden_layers", "layers"}, {"hidden_size", "width"}, {"num_attention_heads", "heads"}},
       .left_out = {"vocab_size", "tokenizer_class", "is_decoder"}},
      options->given);
  app.callback([options] { run_train(*options); });
}

}  // namespace weft::cli
