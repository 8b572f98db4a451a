// SPDX-License-Identifier: Apache-2.0
// Two passes: the mean, and the squares around it.
#include "weft/runs/train/seed_statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "weft/metrics/sums.h"

namespace weft::runs {

using formats::Json;

Json seed_statistics(const std::vector<Json>& evaluations) {
  Json statistics = Json::object();
  if (evaluations.empty()) {
    return statistics;
  }
  for (const auto& [name, first] : evaluations.front().items()) {
    std::vector<double> values;
    for (const Json& evaluation : evaluations) {
      if (const auto found = evaluation.find(name); found != evaluation.end() && found->is_number()) {
        values.push_back(found->get<double>());
      }
    }
    if (values.size() != evaluations.size()) {
      continue;
    }
    const double mean = metrics::mean(values);
    std::vector<double> squares;
    std::transform(values.begin(), values.end(), std::back_inserter(squares),
                   [mean](double value) { return (value - mean) * (value - mean); });
    const auto freedom = static_cast<double>(values.size() - 1);
    statistics[name] = {
        {"mean", mean},
        {"deviation", values.size() < 2 ? Json(nullptr) : Json(std::sqrt(metrics::pairwise_sum(squares) / freedom))},
        {"values", values}};
  }
  return statistics;
}

}  // namespace weft::runs
