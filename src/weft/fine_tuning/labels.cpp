// SPDX-License-Identifier: Apache-2.0
// Names to ids.
#include "weft/fine_tuning/labels.h"

#include <ATen/ops/tensor.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::fine_tuning {
namespace {

std::vector<std::string> sorted_labels(std::vector<std::string> names) {
  const bool numbers =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return integer_of(name).has_value(); });
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return numbers && integer_of(a) != integer_of(b) ? *integer_of(a) < *integer_of(b) : a < b;
  });
  return names;
}

std::string label_list(const std::vector<std::string>& names) { return quoted_list(names, 10); }

// What a config has that never was given names.
bool unnamed(const std::vector<std::string>& labels) {
  for (std::size_t id = 0; id < labels.size(); ++id) {
    if (labels[id] != concat("LABEL_", id)) {
      return false;
    }
  }
  return true;
}

double weight_of(const std::string& word) {
  const std::optional<double> weight = real_of(word);
  require(weight && *weight > 0 && *weight < 1e9,
          "class_weights must be balanced, or numbers above 0 (at most 1e9), found ", Quoted(word));
  return *weight;
}

std::vector<double> balanced_weights(std::span<const std::int64_t> counts, std::int64_t all, bool against_rest) {
  std::vector<double> weights;
  for (const std::int64_t count : counts) {
    require(count > 0, "class_weights balanced: label ", weights.size(), " has no example in the training data");
    const auto others = static_cast<double>(against_rest ? all - count : all);
    const auto share = static_cast<double>(against_rest ? count : count * static_cast<std::int64_t>(counts.size()));
    weights.push_back(others / share);
  }
  return weights;
}

}  // namespace

std::int64_t LabelNames::number(const std::string& name, const std::string& place) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) {
    return found->second;
  }
  require(!fixed_, place, ": the model has no label ", Quoted(name), "; it has ", label_list(names_));
  const auto number = static_cast<std::int64_t>(names_.size());
  numbers_.emplace(name, number);
  names_.push_back(name);
  return number;
}

std::int64_t LabelNames::find(const std::string& name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? -1 : found->second;
}

HeadChoice LabelNames::choose_head(const models::EncoderConfig& config, models::Head head) const {
  const std::vector<std::string> sorted = sorted_labels(names_);
  const std::vector<std::string>& known = config.id2label;
  if (config.head() != head) {
    return {sorted, {}, true};
  }
  const auto lacks = [&](const std::string& name) { return !config.label2id(name); };
  const auto lacking = std::find_if(sorted.begin(), sorted.end(), lacks);
  if (lacking == sorted.end()) {
    return {known, {}, false};
  }
  if (unnamed(known) && known.size() == sorted.size()) {
    return {sorted, {}, false};
  }
  throw Error(ErrorKind::kArgument,
              concat("the data have the label ", quote(*lacking), ", but the model's head knows ", label_list(known)),
              "use the labels of the model in the data, or begin with a model directory that has no such head");
}

std::vector<std::int64_t> LabelNames::fix_order(const std::vector<std::string>& labels) {
  std::map<std::string, std::int64_t, std::less<>> ids;
  for (const std::string& label : labels) {
    ids.emplace(label, static_cast<std::int64_t>(ids.size()));
  }
  std::vector<std::int64_t> by_number;
  by_number.reserve(names_.size());
  for (const std::string& name : names_) {
    by_number.push_back(ids.at(name));
  }
  names_ = labels;
  numbers_ = std::move(ids);
  fixed_ = true;
  return by_number;
}

at::Tensor label_weights(const std::vector<std::string>& words, std::span<const std::int64_t> counts, std::int64_t all,
                         bool against_rest) {
  if (words.empty()) {
    return {};
  }
  if (words.size() == 1 && words.front() == "balanced") {
    return at::tensor(balanced_weights(counts, all, against_rest), at::kDouble).to(at::kFloat);
  }
  require(words.size() == 1 || words.size() == counts.size(), "class_weights must be one a label, ", counts.size(),
          ", one for all, or balanced, found ", words.size());
  std::vector<double> weights(counts.size());
  for (std::size_t label = 0; label < weights.size(); ++label) {
    weights[label] = weight_of(words[words.size() == 1 ? 0 : label]);
  }
  return at::tensor(weights, at::kDouble).to(at::kFloat);
}

}  // namespace weft::fine_tuning
