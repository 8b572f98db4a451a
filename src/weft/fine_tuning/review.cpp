// SPDX-License-Identifier: Apache-2.0
// Counting pairs of labels, and choosing what is shown.
#include "weft/fine_tuning/review.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "weft/text/hugging_face/texts.h"
#include "weft/text/utf8.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

constexpr std::size_t kMostLabels = 30;
constexpr std::size_t kMostPairs = 30;

using LabelPairs = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;  // (truth, predicted) to count

Json frequent_confusions(const LabelPairs& counts, const std::vector<std::string>& names) {
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::int64_t>> wrong;
  std::copy_if(counts.begin(), counts.end(), std::back_inserter(wrong),
               [](const auto& entry) { return entry.first.first != entry.first.second; });
  std::stable_sort(wrong.begin(), wrong.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  Json pairs = Json::array();
  for (std::size_t i = 0; i < std::min(wrong.size(), kMostPairs); ++i) {
    pairs.push_back({{"truth", names[static_cast<std::size_t>(wrong[i].first.first)]},
                     {"predicted", names[static_cast<std::size_t>(wrong[i].first.second)]},
                     {"count", wrong[i].second}});
  }
  return {{"pairs", pairs}};
}

}  // namespace

std::string shortened(std::string_view text, std::size_t most) {
  const std::size_t end = text::byte_offset(text, most);
  const std::string_view shown = text.substr(0, end);
  const std::string repaired = text::valid_text(shown);  // empty where nothing is to be repaired
  return (repaired.empty() ? std::string(shown) : repaired) + (end < text.size() ? "..." : "");
}

Json confusion_json(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted,
                    const std::vector<std::string>& names) {
  LabelPairs counts;
  std::vector<bool> occurs(names.size(), false);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    ++counts[{truth[i], predicted[i]}];
    occurs[static_cast<std::size_t>(truth[i])] = occurs[static_cast<std::size_t>(predicted[i])] = true;
  }
  if (static_cast<std::size_t>(std::count(occurs.begin(), occurs.end(), true)) > kMostLabels) {
    return frequent_confusions(counts, names);
  }
  Json labels = Json::array();
  Json table = Json::array();
  for (std::size_t row = 0; row < names.size(); ++row) {
    if (!occurs[row]) {
      continue;
    }
    labels.push_back(names[row]);
    Json of_row = Json::array();
    for (std::size_t column = 0; column < names.size(); ++column) {
      if (occurs[column]) {
        const auto found = counts.find({static_cast<std::int64_t>(row), static_cast<std::int64_t>(column)});
        of_row.push_back(found == counts.end() ? 0 : found->second);
      }
    }
    table.push_back(std::move(of_row));
  }
  return {{"labels", labels}, {"counts", table}};
}

std::int64_t others_of_one(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted) {
  const auto is_first = [&](std::int64_t label) { return label == predicted.front(); };
  if (predicted.size() < 2 || !std::all_of(predicted.begin(), predicted.end(), is_first)) {
    return 0;
  }
  return std::ssize(truth) - std::count_if(truth.begin(), truth.end(), is_first);
}

std::optional<OneNumber> one_number(std::span<const double> given, std::span<const double> truth) {
  const auto [least, most] = std::minmax_element(given.begin(), given.end());
  const auto [low, high] = std::minmax_element(truth.begin(), truth.end());
  // Float32 tells numbers apart by a part in 10 million of their size.
  const bool is_one = given.size() > 1 && *most - *least <= 1e-6 * std::max(std::abs(*least), std::abs(*most));
  return is_one && *high > *low ? std::optional(OneNumber{*least, *low, *high}) : std::nullopt;
}

std::vector<std::size_t> largest(std::span<const double> values, std::size_t most) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

}  // namespace weft::fine_tuning
