// SPDX-License-Identifier: Apache-2.0
// What a run directory says of a run, for reports and comparisons: its figures, and the settings that its task reads.
// Read without the run's lock, also while it trains.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/report/html.h"

namespace weft::report {

/// A run with its logs. What is not null is an object.
struct RunFigures {
  /// The path of one of its files in quotes, for messages.
  std::string where(const char* file) const;

  std::filesystem::path path;
  formats::Json training;        ///< training.json
  formats::Json model;           ///< config.json
  formats::Json last;            ///< last entry of a step: step, loss, seconds, tokens; null before the first
  formats::Json evaluation;      ///< last evaluation with its step; null without one
  formats::Json best;            ///< best/best.json; null without one
  formats::Json review;          ///< evaluation.json: what a task says of its last evaluation; null without one
  std::vector<Curve> trained;    ///< each figure of training over the steps
  std::vector<Curve> evaluated;  ///< each figure of evaluation over the steps
};

/// Errors: kArgument when `run` is no run directory; kIo, kFormat.
RunFigures read_run(const std::filesystem::path& run);

/// The figures that are kept of a run, one flat object: run, task, dtype, steps, tokens, seconds, loss, and the last
/// evaluation's as they are named there.
formats::Json summary_json(const RunFigures& run);

/// "lm", "mlm" or the task of fine-tuning.
std::string task_of(const RunFigures& run);

/// training.json without the fields that nothing in this run reads: those of other tasks, of other optimisers, and a
/// length that another field decides (minutes for steps, batch_tokens for batch_size).
formats::Json training_settings(const RunFigures& run);

/// config.json in the same way, without the type of its weights: a run's dtype is that of its products.
formats::Json model_settings(const RunFigures& run);

/// Both in one object; no name is in both.
formats::Json settings_of(const RunFigures& run);

/// Every setting in the files of a run, used or not, but the type of its weights.
formats::Json written_settings(const RunFigures& run);

}  // namespace weft::report
