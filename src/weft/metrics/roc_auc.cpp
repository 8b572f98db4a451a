// SPDX-License-Identifier: Apache-2.0
// The Mann-Whitney count in whole numbers: pairs that are ordered rightly count 2, ties 1. Only the last division
// rounds.
#include "weft/metrics/roc_auc.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "weft/core/error.h"
#include "weft/metrics/sums.h"

namespace weft::metrics {
namespace {

__extension__ using Wide = __int128;

// Examples of one score, from the lowest up.
struct Tie {
  std::int64_t positive = 0;
  std::int64_t negative = 0;
};

std::vector<Tie> ties(std::span<const std::uint8_t> truth, std::span<const double> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  std::vector<Tie> result;
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (place == 0 || scores[order[place]] != scores[order[place - 1]]) {
      result.push_back({});
    }
    ++(truth[order[place]] != 0 ? result.back().positive : result.back().negative);
  }
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <typename Value>
std::vector<Value> label_column(std::span<const Value> table, std::int64_t columns, std::int64_t which) {
  std::vector<Value> values;
  for (auto i = static_cast<std::size_t>(which); i < table.size(); i += static_cast<std::size_t>(columns)) {
    values.push_back(table[i]);
  }
  return values;
}

}  // namespace

std::optional<double> roc_auc(std::span<const std::uint8_t> truth, std::span<const double> scores) {
  require(truth.size() == scores.size(), "ROC-AUC needs a score for every example: expected ", truth.size(), ", found ",
          scores.size());
  require(std::none_of(scores.begin(), scores.end(), [](double score) { return std::isnan(score); }),
          "ROC-AUC needs scores that are numbers, found NaN");
  std::int64_t positive = 0;
  std::int64_t negative = 0;
  Wide twice_ordered = 0;
  for (const Tie& tie : ties(truth, scores)) {
    twice_ordered += static_cast<Wide>(tie.positive) * (2 * negative + tie.negative);
    positive += tie.positive;
    negative += tie.negative;
  }
  if (positive == 0 || negative == 0) {
    return std::nullopt;
  }
  return static_cast<double>(static_cast<long double>(twice_ordered) /
                             (2.0L * static_cast<long double>(positive) * static_cast<long double>(negative)));
}

std::vector<GroupAuc> grouped_roc_auc(std::span<const std::uint8_t> truth, std::span<const double> scores,
                                      std::int64_t labels, std::span<const LabelGroup> groups) {
  require(labels >= 1 && truth.size() % static_cast<std::size_t>(labels) == 0 && truth.size() == scores.size(),
          "rows of ", labels, " labels are expected, found ", truth.size(), " values and ", scores.size(), " scores");
  std::vector<GroupAuc> result;
  for (const LabelGroup& group : groups) {
    GroupAuc figure{.name = group.name};
    std::vector<double> areas;
    for (const std::int64_t label : group.labels) {
      require(label >= 0 && label < labels, "group '", group.name, "' names label ", label, ", expected 0 to ",
              labels - 1);
      const std::optional<double> area =
          roc_auc(label_column(truth, labels, label), label_column(scores, labels, label));
      if (area) {
        areas.push_back(*area);
      } else {
        ++figure.undefined;
      }
    }
    figure.labels = static_cast<std::int64_t>(areas.size());
    if (!areas.empty()) {
      figure.mean = mean(areas);
      figure.median = median(std::move(areas));
    }
    result.push_back(std::move(figure));
  }
  return result;
}

}  // namespace weft::metrics
