// SPDX-License-Identifier: Apache-2.0
// A run is measured as it was trained: on its files' form, with its lengths.
#include "weft/cli/evaluation/eval_pairs.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/output.h"
#include "weft/cli/training/task_flags.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/fine_tuning/pairs/pair_measurement.h"
#include "weft/formats/json_members.h"
#include "weft/profile/prune/attention_file.h"
#include "weft/training/run/run_of_model.h"

namespace weft::cli {
namespace {

using fine_tuning::PairConfig;
using formats::Json;

// How the run's pairs were read, but for what is given anew; its files are those of training.
PairConfig pair_config(const EvalPairsOptions& options) {
  const std::filesystem::path trained = training::run_of(options.run);
  const ModelFile file(trained, "training.json");
  PairConfig config;
  if (!trained.empty() && file.exists()) {
    Json stored = only_fields_of<PairConfig>(formats::read_json_object(file));
    for (const auto& [name, value] : options.given.items()) {
      stored.erase(name);
    }
    note_stored_settings(file, options.given);
    formats::update_from_json(config, stored, quote(file.path().native(), 4096));
  }
  formats::update_from_json(config, options.given, "weft eval");
  config.task = options.task;
  config.train_source.clear();
  config.train_target.clear();
  config.train_data.clear();
  config.alignments.clear();
  config.alignment_field.clear();
  config.eval_source = options.source;
  config.eval_target = options.target;
  config.eval_data = options.data;
  return config;
}

void check_pair_sources(const EvalPairsOptions& options) {
  const bool has_files = !options.source.empty() || !options.target.empty();
  if (has_files == !options.data.empty() || options.source.size() != options.target.size()) {
    throw UsageError(
        concat("weft eval --task ", options.task, " needs --source FILE with --target FILE, or --data FILE"),
        concat("for example: weft eval ", options.run, " --task ", options.task, " --source val.de --target val.en"));
  }
}

// The mechanisms of --attention, in the measurement: a file's for the whole model, an expression for the encoder.
void set_attention(const EvalPairsOptions& options, const checkpoint::OpenedModel& opened,
                   fine_tuning::PairMeasurement& measurement) {
  if (options.attention.empty()) {
    return;
  }
  measurement.changes["attention"] = options.attention;
  if (const std::optional<profile::AttentionFile> file = profile::take_attention_file(measurement.changes, true)) {
    file->check_pair(opened.facts(checkpoint::Ability::kWrite));
    profile::warn_of_other_model(*file, opened.path());
    measurement.graphs = file->graphs();
  }
  fine_tuning::rename_shape_fields(measurement.changes);
}

// Where predictions are asked for, a file that they are written to as they come.
std::unique_ptr<AtomicFile> predictions_file(const EvalPairsOptions& options,
                                             fine_tuning::PairMeasurement& measurement) {
  if (options.predictions.empty()) {
    return nullptr;
  }
  if (measurement.pairs.generated_examples == 0) {
    throw UsageError("--predictions holds what the model writes, but --generated-examples is 0",
                     "give the number of pairs that it writes for");
  }
  auto out = std::make_unique<AtomicFile>(options.predictions);
  measurement.prediction = [file = out.get()](const Json& line) { file->write(formats::print_json(line) + "\n"); };
  return out;
}

void tell_of_texts(const fine_tuning::MeasuredPairs& measured, const EvalPairsOptions& options) {
  if (!options.predictions.empty() && measured.written < measured.read.examples) {
    log_warning(quote(options.predictions, 4096), " has the first ", measured.written, " of ", measured.read.examples,
                " pairs; --generated-examples ", measured.read.examples, " writes for all");
  }
  if (!measured.doubt.empty()) {
    log_warning(measured.doubt);
  }
}

}  // namespace

void add_pair_flags_of_eval(CLI::App& app, EvalPairsOptions& options) {
  constexpr const char* kGroup = "Pairs (translate, summarize); without a flag, the value of the training";
  app.add_option("--source", options.source, "text files of sources, a source a line")
      ->option_text("FILE...")
      ->group(kGroup);
  app.add_option("--target", options.target, "text files of their targets, line by line")
      ->option_text("FILE...")
      ->group(kGroup);
  add_fields<PairConfig>(app,
                         {.title = kGroup,
                          .only = {"source_field", "target_field", "max_source_length", "max_target_length",
                                   "generated_examples", "eval_beams"}},
                         options.given);
}

void eval_pairs(const EvalPairsOptions& options, const checkpoint::ModelOnDemand& model) {
  check_pair_sources(options);
  const checkpoint::OpenedModel& opened = model.get();
  opened.need(checkpoint::Ability::kWrite);
  fine_tuning::PairMeasurement measurement;
  measurement.pairs = pair_config(options);
  measurement.how.dtype = options.dtype;
  set_attention(options, opened, measurement);
  const std::unique_ptr<AtomicFile> out = predictions_file(options, measurement);
  WatchedProgress progress("evaluating", "batches");
  measurement.how.progress = progress.callback();
  const fine_tuning::MeasuredPairs measured = measure_pairs(opened, measurement);
  progress.finish();
  if (out) {
    out->commit();
  }
  tell_of_texts(measured, options);
  Json result = {{"task", options.task}};
  result.update(measured.figures);
  if (!measured.doubt.empty()) {
    result["warning"] = measured.doubt;
  }
  result["examples"] = measured.read.examples;
  result["skipped"] = measured.read.records.skipped;
  result["cut"] = measured.read.cut;
  result["dtype"] = measured.dtype;
  if (options.json) {
    print_json(result);
    return;
  }
  Rows rows = {{"task", options.task}};
  for (const auto& [name, value] : measured.figures.items()) {
    rows.emplace_back(name, value.is_number() ? fixed(value.get<double>(), 4) : formats::print_json(value));
  }
  rows.emplace_back("examples", digits(measured.read.examples));
  for (const char* name : {"skipped", "cut"}) {
    if (const auto count = result[name].get<std::int64_t>(); count > 0) {
      rows.emplace_back(name, digits(count));
    }
  }
  rows.emplace_back("dtype", measured.dtype);
  std::cout << name_table(rows);
}

}  // namespace weft::cli
