// SPDX-License-Identifier: Apache-2.0
// Fields that are not given are those of the run's training.json: a model is measured as it was trained.
#include "weft/cli/fine_tuning/eval_task.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include "weft/cli/field_flags.h"
#include "weft/cli/output.h"
#include "weft/cli/watched_progress.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/fine_tune.h"

namespace weft::cli {
namespace {

using formats::Json;

Json training_settings(const std::string& run) {
  const std::filesystem::path file = std::filesystem::path(run) / "training.json";
  Json settings = std::filesystem::exists(file) ? formats::read_json(file) : Json::object();
  return settings.is_object() ? settings : Json::object();
}

void print_figures(const fine_tuning::Measured& measured, const EvalTaskOptions& options) {
  if (options.json) {
    Json json = measured.figures;
    json["examples"] = measured.read.examples;
    json["skipped"] = measured.read.records.skipped;
    json["cut"] = measured.read.cut;
    json.update(measured.details);
    print_json(json);
    return;
  }
  Rows rows;
  for (const auto& [name, value] : measured.figures.items()) {
    rows.emplace_back(name, value.is_null() ? "undefined" : fixed(value.get<double>(), 4));
  }
  rows.emplace_back("examples", digits(measured.read.examples));
  if (measured.read.records.skipped > 0) {
    rows.emplace_back(
        "skipped", concat(digits(measured.read.records.skipped), ", the first: ", measured.read.records.first_skipped));
  }
  if (measured.read.cut > 0) {
    rows.emplace_back("cut", concat(digits(measured.read.cut), " texts, which leaves out ",
                                    digits(measured.read.left_out), " tokens"));
  }
  std::cout << name_table(rows);
}

}  // namespace

void eval_task(const EvalTaskOptions& options) {
  if (options.data.empty()) {
    throw UsageError("weft eval --task " + options.task + " needs --data PATH",
                     "for example: weft eval " + options.run + " --task " + options.task + " --data held-out.csv");
  }
  fine_tuning::Measurement measurement;
  measurement.task = options.task;
  measurement.directory = options.run;
  measurement.data = options.data;
  measurement.dtype = options.dtype;
  Json settings = formats::only_fields_of<fine_tuning::DataSettings>(training_settings(options.run));
  settings.update(options.examples);
  formats::update_from_json(measurement.settings, settings, "weft eval");
  WatchedProgress progress("evaluating", "batches");
  measurement.progress = progress.callback();
  std::unique_ptr<AtomicFile> out;
  fine_tuning::Objective::WriteLine write;
  if (!options.predictions.empty()) {
    out = std::make_unique<AtomicFile>(options.predictions);
    write = [&out](const Json& line) { out->write(formats::print_json(line) + "\n"); };
  }
  const fine_tuning::Measured measured = fine_tuning::measure(measurement, write);
  progress.finish();
  if (out) {
    out->commit();
  }
  print_figures(measured, options);
}

}  // namespace weft::cli
