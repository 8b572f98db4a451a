// SPDX-License-Identifier: Apache-2.0
// Comparing one figure from evaluation to evaluation.
#include "weft/training/best_figure.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/metrics/figures.h"

namespace weft::training {

using formats::Json;

void check_metric(const std::string& metric, Task& task) {
  if (metric.empty()) {
    return;
  }
  const std::optional<std::vector<std::string>> names = task.figure_names();
  if (!names) {
    return;
  }
  require(!names->empty(), "best_metric: ", Quoted(metric),
          " cannot be measured without held-out data; name some with eval_text, eval_images, eval_audio or eval_data");
  if (std::find(names->begin(), names->end(), metric) == names->end()) {
    const std::vector<std::string_view> views(names->begin(), names->end());
    throw Error(ErrorKind::kArgument,
                concat("best_metric: an evaluation has no figure ", quote(metric), "; it has ", joined(views, ", ")),
                did_you_mean(metric, views));
  }
}

bool BestFigure::consider(std::int64_t step, const Json& figures) {
  if (metric_.empty()) {
    return false;
  }
  const auto found = figures.find(metric_);
  const std::string known = joined(figures.items(), ", ", [](const auto& figure) { return figure.key(); });
  require(found != figures.end() && (found->is_number() || found->is_null()),
          "best_metric: an evaluation has no figure ", Quoted(metric_), "; it has ", known.empty() ? "none" : known);
  if (found->is_null()) {
    if (value_) {
      ++since_best_;
    } else if (!std::exchange(has_warned_, true)) {
      log_warning("best_metric: the evaluation after step ", step, " has no value of ", metric_,
                  ", which the held-out data do not define; such an evaluation is never the best");
    }
    return false;
  }
  ++since_best_;
  const auto value = found->get<double>();
  const bool smaller = metrics::figure_kind(metric_) == metrics::FigureKind::kSmallerIsBetter;
  if (value_ && !(smaller ? value < *value_ : value > *value_)) {
    return false;
  }
  value_ = value;
  step_ = step;
  since_best_ = 0;
  return true;
}

Json BestFigure::json() const {
  return value_ ? Json{{"metric", metric_}, {"value", *value_}, {"step", step_}} : Json::object();
}

}  // namespace weft::training
