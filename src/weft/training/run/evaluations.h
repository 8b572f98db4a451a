// SPDX-License-Identifier: Apache-2.0
// The evaluations of a run: the last one, the best one, and what a run directory keeps of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "weft/formats/config_json.h"
#include "weft/training/best_figure.h"
#include "weft/training/run/metrics_log.h"
#include "weft/training/run_directory.h"
#include "weft/training/task.h"

namespace weft::training {

/// Every process of a run knows them; the first one alone writes.
class Evaluations {
 public:
  /// Of `run`, in `log`, which both live longer; null in all processes but the first. `metric` as BestFigure's.
  Evaluations(RunDirectory& run, MetricsLog* log, std::string metric)
      : run_(run), log_(log), best_(std::move(metric)) {}

  /// Takes in what the log of a resumed run knows; the first process tells the others. Errors: kArgument naming the log
  /// and the step of one without the metric.
  void learn();
  /// Takes in what `task` was evaluated to after `step`, empty without held-out data. The first process writes a line
  /// of the log, the review, and the model when it is the best so far; where `is_last` then says so, it warns of the
  /// task's doubt. Errors: kIo, and kArgument as BestFigure::consider().
  void add(std::int64_t step, formats::Json figures, const Task& task, const std::function<bool()>& is_last);

  /// After how many steps the last one was; -1 before the first.
  std::int64_t step() const noexcept { return step_; }
  /// Of the last one, an object.
  const formats::Json& figures() const noexcept { return figures_; }
  const BestFigure& best() const noexcept { return best_; }

 private:
  void write(const Task& task, bool is_best);

  RunDirectory& run_;
  MetricsLog* log_;
  BestFigure best_;
  formats::Json figures_ = formats::Json::object();
  std::int64_t step_ = -1;
};

}  // namespace weft::training
