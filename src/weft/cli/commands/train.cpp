// SPDX-License-Identifier: Apache-2.0
// `weft train`: data in, a trained model and its held-out figures out. runs/train decides what is trained and trains
// it.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/threads.h"
#include "weft/cli/training/announcement.h"
#include "weft/cli/training/results.h"
#include "weft/cli/training/task_flags.h"
#include "weft/cli/training/train_help.h"
#include "weft/core/quote.h"
#include "weft/core/system/message_output.h"
#include "weft/models/transformer_config.h"
#include "weft/runs/train/carry_out.h"
#include "weft/runs/train/request.h"
#include "weft/training/distillation/config.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/run/offload.h"
#include "weft/training/text_config.h"

namespace weft::cli {
namespace {

using formats::Json;
constexpr std::string_view kTrainExamples =
    "  weft train --train-text books/train --eval-text books/val --attention 'strided(256)' --context 4096 \\\n"
    "    --layers 6 --width 256 --heads 4 --minutes 5 --out run\n"
    "  weft train --train-text corpus.txt --attention 'window(left=512) | global(8, side=keys)' --steps 1000 --out "
    "run\n"
    "  weft train --train-text books/train --attention relative --position-embedding none --memory 512 \\\n"
    "    --context 512 --minutes 30 --out run\n"
    "  weft train --train-images pictures/train --eval-images pictures/val --position-embedding picture \\\n"
    "    --attention 'strided(96, split=true)' --steps 1000 --out run\n"
    "  weft train --task classify --model bert-base-uncased --train-data train.tsv --eval-data dev.tsv --epochs 3 \\\n"
    "    --out run\n"
    "  weft train --task mlm --model long --distill roberta-base --train-text books/train --steps 2000 --out student\n"
    "  weft train --task translate --train-source train.de --train-target train.en --eval-source val.de \\\n"
    "    --eval-target val.en --minutes 20 --out run\n"
    "  weft train --config run/training.json --steps 2000 --out other\n"
    "  weft train --resume --out run\n"
    "  weft train --train-text books/train --residual reversible --layers 48 --width 2048 --offload /mnt/disk \\\n"
    "    --steps 1000 --out run\n"
    "  torchrun --no-python --nproc-per-node 2 weft train --train-text books/train --steps 1000 --out run";

struct TrainCommand {
  runs::TrainOptions asked;
  std::string offload;  // folder that tensors lie in; empty: in memory
  bool json = false;
};

// The mean and the deviation of each figure over the seeds.
std::string seeds_text(const runs::TrainOptions& options, const std::vector<runs::Outcome>& outcomes) {
  const Json figures = runs::outcomes_json(outcomes)["figures"];
  Rows rows = {{"runs", concat(options.seeds, " seeds from ", outcomes.front().seed, " on, in ", options.out)}};
  for (const auto& [name, figure] : figures.items()) {
    rows.emplace_back(
        name, concat(fixed(figure["mean"].get<double>(), 4), " +- ", fixed(figure["deviation"].get<double>(), 4)));
  }
  return name_table(rows);
}

void print_outcomes(const TrainCommand& command, const std::vector<runs::Outcome>& outcomes) {
  const bool has_seeds = command.asked.seeds > 1;
  const runs::Outcome& only = outcomes.front();
  if (command.json) {
    Json json = has_seeds ? runs::outcomes_json(outcomes) : runs::outcome_json(only);
    if (!has_seeds && !command.offload.empty()) {
      json["offloaded_bytes"] = training::offloaded_bytes();
    }
    print_json(json);
    return;
  }
  std::cout << (has_seeds ? seeds_text(command.asked, outcomes)
                          : result_text(only.out, only.result, only.task != "lm" && only.task != "mlm"));
}

void run_train(const TrainCommand& command) {
  ignore_closed_pipes();
  const training::JoinedProcesses joined;
  try {
    const std::vector<runs::Outcome> outcomes = runs::carry_out(command.asked, [&]() {
      if (!command.offload.empty()) {
        training::offload_tensors(command.offload);
      }
      // --threads is a field of the run, which the trainer applies; WEFT_THREADS is applied here.
      return std::make_unique<Announcer>(apply_threads(0));
    });
    if (training::processes().is_first()) {
      print_outcomes(command, outcomes);
    }
  } catch (const training::StoppedRun& stopped) {
    throw Error(stopped.kind(), stopped.what(),
                concat("go on with: weft train --resume --out ", quote(stopped.run().native(), 4096)));
  }
}

}  // namespace

void add_train(CLI::App& parent) {
  auto command = std::make_shared<TrainCommand>();
  runs::TrainOptions* options = &command->asked;
  options->heard = note_config_file;
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
                 "lm (a decoder; the default) and mlm (an encoder) learn from --train-text; translate and summarize "
                 "learn an encoder-decoder from --train-source and --train-target; the others learn from --train-data, "
                 "beginning with --model")
      ->check(one_of("--task", runs::task_names()))
      ->option_text("NAME");
  app.add_option(
         "--offload", command->offload,
         "folder of a disk: tensors lie in a file there, and the system keeps in memory what there is room for, "
         "so that a model trains that is larger than the memory; results are the same to the last bit")
      ->option_text("DIR");
  app.add_flag("--encoder", options->encoder, "the same as --task mlm");
  add_json_flag(app, command->json);
  add_fields<training::TrainerConfig>(app, {.title = "Training", .remarks = fine_tuning_remarks()}, options->given);
  add_fine_tuning_flags(app, options->given);
  add_pair_flags(app, options->given);
  add_fields<training::TextConfig>(app, {.title = "Text, pictures or sound (lm, mlm)"}, options->given);
  add_fields<training::DistillationConfig>(
      app, {.title = "Distillation (all tasks except translate and summarize)", .left_out = {"distill_digest"}},
      options->given);
  add_fields<models::TransformerConfig>(
      app,
      {.title = "Model (lm, mlm; --attention and --gradient-checkpointing for all tasks)",
       .aliases = {{"num_hidden_layers", "layers"},
                   {"hidden_size", "width"},
                   {"num_attention_heads", "heads"},
                   {"memory_length", "memory"},
                   {"compressed_memory_length", "compressed_memory"},
                   {"chunk_size_feed_forward", "feed_forward_chunk"}},
       .left_out = {"vocab_size", "tokenizer_class", "is_decoder", "picture_shape"},
       .remarks = {{"attention", "@FILE takes those of weft prune or weft propose"}}},
      options->given);
  show_train_help(app);
  app.callback([command] { run_train(*command); });
}

}  // namespace weft::cli
