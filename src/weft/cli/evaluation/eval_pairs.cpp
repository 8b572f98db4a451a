// SPDX-License-Identifier: Apache-2.0
// Predictions go to a file as they come.
#include "weft/cli/evaluation/eval_pairs.h"

#include <iostream>
#include <memory>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/fine_tuning/pairs/pair_measurement.h"

namespace weft::cli {
namespace {

using fine_tuning::PairConfig;
using formats::Json;

void check_pair_sources(const runs::PairsAsked& asked) {
  if (asked.task == "denoise") {
    if (asked.source.empty() == asked.data.empty() || !asked.target.empty()) {
      throw UsageError("weft eval --task denoise needs --source FILE with plain text, or --data FILE, and no --target",
                       concat("for example: weft eval ", asked.run, " --task denoise --source val.txt"));
    }
    return;
  }
  const bool has_files = !asked.source.empty() || !asked.target.empty();
  if (has_files == !asked.data.empty() || asked.source.size() != asked.target.size()) {
    throw UsageError(
        concat("weft eval --task ", asked.task, " needs --source FILE with --target FILE, or --data FILE"),
        concat("for example: weft eval ", asked.run, " --task ", asked.task, " --source val.de --target val.en"));
  }
}

// Where predictions are asked for, a file that they are written to as they come.
std::unique_ptr<AtomicFile> predictions_file(const EvalPairsOptions& options,
                                             fine_tuning::PairMeasurement& measurement) {
  if (options.predictions.empty()) {
    return nullptr;
  }
  auto out = std::make_unique<AtomicFile>(options.predictions);
  measurement.prediction = [file = out.get()](const Json& line) { file->write(formats::print_json(line) + "\n"); };
  return out;
}

void tell_of_texts(const fine_tuning::MeasuredPairs& measured, const EvalPairsOptions& options) {
  if (!options.predictions.empty() && measured.written > 0 && measured.written < measured.read.examples) {
    log_warning(quote(options.predictions, 4096), " has the first ", measured.written, " of ", measured.read.examples,
                " pairs; --generated-examples ", measured.read.examples, " writes for all");
  }
  if (!measured.doubt.empty()) {
    log_warning(measured.doubt);
  }
}

}  // namespace

void add_pair_flags_of_eval(CLI::App& app, EvalPairsOptions& options) {
  constexpr const char* kGroup = "Pairs (translate, summarize, denoise); without a flag, the value of the training";
  app.add_option("--source", options.asked.source, "text files of sources, a source a line; plain texts for denoise")
      ->option_text("FILE...")
      ->group(kGroup);
  app.add_option("--target", options.asked.target, "text files of their targets, line by line")
      ->option_text("FILE...")
      ->group(kGroup);
  add_fields<PairConfig>(app,
                         {.title = kGroup,
                          .only = {"source_field", "target_field", "max_source_length", "max_target_length",
                                   "generated_examples", "eval_beams"}},
                         options.asked.given);
}

void eval_pairs(const EvalPairsOptions& options, const checkpoint::ModelOnDemand& model) {
  check_pair_sources(options.asked);
  const checkpoint::OpenedModel& opened = model.get();
  opened.need(checkpoint::Ability::kWrite);
  fine_tuning::PairMeasurement measurement = runs::pair_measurement(opened, options.asked);
  const std::unique_ptr<AtomicFile> out = predictions_file(options, measurement);
  WatchedProgress progress("evaluating", "batches");
  measurement.how.progress = progress.callback();
  const fine_tuning::MeasuredPairs measured = measure_pairs(opened, measurement);
  progress.finish();
  if (out) {
    out->commit();
  }
  tell_of_texts(measured, options);
  Json result = {{"task", options.asked.task}};
  result.update(measured.figures);
  if (!measured.doubt.empty()) {
    result["warning"] = measured.doubt;
  }
  result["examples"] = measured.read.examples;
  result["skipped"] = measured.read.records.skipped;
  result["cut"] = measured.read.cut;
  result["dtype"] = measured.dtype;
  if (opened.computes_int8()) {
    result["weights"] = "int8";
  }
  if (options.json) {
    print_json(result);
    return;
  }
  Rows rows = {{"task", options.asked.task}};
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
  if (opened.computes_int8()) {
    rows.emplace_back("weights", "int8");
  }
  std::cout << name_table(rows);
}

}  // namespace weft::cli
