// SPDX-License-Identifier: Apache-2.0
// Best model and review are written before the line of the log: a kill in between evaluates once more.
#include "weft/training/run/evaluations.h"

#include <cstdio>
#include <filesystem>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/metrics/figures.h"
#include "weft/training/processes/process_group.h"

namespace weft::training {
namespace {

using formats::Json;

// "accuracy 0.9123, loss 0.2817": what the model is measured by, without the extent of the evaluation.
std::string measures_text(const Json& evaluation) {
  std::string text;
  for (const auto& [name, value] : evaluation.items()) {
    if (value.is_number() && metrics::measures_the_model(name)) {
      char figure[32];
      std::snprintf(figure, sizeof figure, "%.4f", value.get<double>());
      text += concat(text.empty() ? "" : ", ", name, " ", figure);
    }
  }
  return text;
}

}  // namespace

void Evaluations::learn() {
  Json known = Json::array();
  for (const auto& [step, figures] :
       log_ != nullptr ? log_->evaluations() : std::vector<std::pair<std::int64_t, Json>>()) {
    known.push_back({{"step", step}, {"figures", figures}});
  }
  for (const Json& entry : Json::parse(processes().text_from_first(known.dump()))) {
    step_ = entry["step"].get<std::int64_t>();
    figures_ = entry["figures"];
    try {
      best_.consider(step_, figures_);
    } catch (const Error& error) {
      const std::filesystem::path log = run_.path() / "metrics.jsonl";
      throw Error(error.kind(), concat(quote(log.native(), 4096), ", step ", step_, ": ", error.what()));
    }
  }
}

void Evaluations::add(std::int64_t step, Json figures, const Task& task, const std::function<bool()>& is_last) {
  step_ = step;
  figures_ = std::move(figures);
  if (figures_.empty()) {
    return;
  }
  report_progress(concat("evaluation after step ", step_, ": ", measures_text(figures_)));
  const bool is_best = best_.consider(step_, figures_);
  if (log_ == nullptr) {
    return;
  }
  if (const std::string doubt = task.doubt(); is_last() && !doubt.empty()) {
    log_warning(doubt);
  }
  write(task, is_best);
}

void Evaluations::write(const Task& task, bool is_best) {
  if (is_best) {
    run_.save_best(best_.json(), [&](const std::filesystem::path& directory) { task.save(directory); });
  }
  if (Json review = task.review(); !review.empty()) {
    review["step"] = step_;
    write_file_atomically(run_.path() / "evaluation.json", formats::print_json(review) + "\n");
  }
  log_->evaluation(step_, figures_);
}

}  // namespace weft::training
