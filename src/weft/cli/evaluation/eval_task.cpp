// SPDX-License-Identifier: Apache-2.0
// Fields that are not given are those of the run's training.json: a model is measured as it was trained.
#include "weft/cli/evaluation/eval_task.h"

#include <iostream>
#include <memory>
#include <string>

#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/fine_tuning/fine_tune.h"
#include "weft/runs/evaluate/trained_settings.h"

namespace weft::cli {
namespace {

using formats::Json;

void print_figures(const fine_tuning::Measured& measured, const EvalTaskOptions& options, bool is_int8) {
  if (options.json) {
    Json json = {{"task", options.task}};
    json.update(measured.figures);
    json["examples"] = measured.read.examples;
    json["skipped"] = measured.read.records.skipped;
    json["read_as"] = measured.read.records.kinds;
    json["cut"] = measured.read.cut;
    json["dtype"] = measured.dtype;
    if (is_int8) {
      json["weights"] = "int8";
    }
    if (!measured.doubt.empty()) {
      json["warning"] = measured.doubt;
    }
    json.update(measured.details);
    print_json(json);
    return;
  }
  Rows rows = {{"task", options.task}};
  for (const auto& [name, value] : measured.figures.items()) {
    rows.emplace_back(name, value.is_null() ? "undefined" : fixed(value.get<double>(), 4));
  }
  if (!measured.note.empty()) {
    rows.emplace_back("left out", measured.note);
  }
  rows.emplace_back("examples", digits(measured.read.examples));
  rows.emplace_back("read as", joined(measured.read.records.kinds, ", ", [](const auto& kind) {
                      return concat(kind.first, " (", kind.second, kind.second == 1 ? " file)" : " files)");
                    }));
  if (measured.read.records.skipped > 0) {
    rows.emplace_back(
        "skipped", concat(digits(measured.read.records.skipped), ", the first: ", measured.read.records.first_skipped));
  }
  if (measured.read.cut > 0) {
    rows.emplace_back("cut", concat(digits(measured.read.cut), " texts, which leaves out ",
                                    digits(measured.read.left_out), " tokens"));
  }
  rows.emplace_back("dtype", measured.dtype);
  if (is_int8) {
    rows.emplace_back("weights", "int8");
  }
  std::cout << name_table(rows);
}

}  // namespace

void eval_task(const EvalTaskOptions& options, const checkpoint::ModelOnDemand& model) {
  if (options.data.empty()) {
    throw UsageError("weft eval --task " + options.task + " needs --data PATH",
                     "for example: weft eval " + options.run + " --task " + options.task + " --data held-out.csv");
  }
  fine_tuning::Measurement measurement;
  measurement.task = options.task;
  measurement.directory = options.run;
  measurement.data = options.data;
  measurement.dtype = options.dtype;
  measurement.settings =
      runs::trained_settings<fine_tuning::DataSettings>(options.run, options.examples, note_config_file);
  measurement.retrieval =
      runs::trained_settings<fine_tuning::RetrievalConfig>(options.run, options.examples, note_config_file);
  WatchedProgress progress("evaluating", "batches");
  measurement.progress = progress.callback();
  std::unique_ptr<AtomicFile> out;
  fine_tuning::Objective::WriteLine write;
  if (!options.predictions.empty()) {
    out = std::make_unique<AtomicFile>(options.predictions);
    // Of a folder's files any name may be no UTF-8; that is no reason to lose what was computed.
    write = [&out](const Json& line) { out->write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"); };
  }
  measurement.opened = model.get();
  const fine_tuning::Measured measured = fine_tuning::measure(measurement, write);
  progress.finish();
  if (out) {
    out->commit();
  }
  if (!measured.doubt.empty()) {
    log_warning(measured.doubt);
  }
  print_figures(measured, options, model.get().computes_int8());
}

}  // namespace weft::cli
