// SPDX-License-Identifier: Apache-2.0
// Names say what a parameter is: those of Weft's own models and of Hugging Face's follow the same habits.
#include "weft/training/optimizers/parameter_groups.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/training/optimizers/adafactor.h"
#include "weft/training/optimizers/lamb.h"

namespace weft::training {
namespace {

bool is_embedding(const std::string& name) { return name.find("embed") != std::string::npos; }

// The first part of a dotted name that is a number, or -1.
std::int64_t number_in(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    if (const auto number = integer_of(part)) {
      return *number;
    }
    name.remove_prefix(std::min(part.size() + 1, name.size()));
  }
  return -1;
}

std::int64_t count_layers(const NamedTensors& parameters) {
  std::int64_t layers = 0;
  for (const auto& [name, parameter] : parameters) {
    layers = std::max(layers, number_in(name) + 1);
  }
  return layers;
}

}  // namespace

bool decays(const std::string& name, const at::Tensor& parameter) {
  return parameter.dim() >= 2 && !is_embedding(name) && !name.ends_with("bias");  // relative attention's are matrices
}

std::int64_t layer_of(const std::string& name, std::int64_t layers) {
  if (is_embedding(name)) {
    return 0;
  }
  const std::int64_t number = number_in(name);
  return number >= 0 ? number + 1 : layers + 1;
}

void freeze(const NamedTensors& parameters, const std::vector<std::string>& patterns) {
  std::size_t frozen = 0;
  for (const std::string& pattern : patterns) {
    bool matched = false;
    for (const auto& [name, parameter] : parameters) {
      if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) {
        frozen += parameter.requires_grad() ? 1 : 0;
        matched = true;
        parameter.set_requires_grad(false);
      }
    }
    require(matched, "freeze: no parameter is called ", Quoted(pattern), "; the first is ",
            Quoted(parameters.empty() ? "" : parameters.front().first));
  }
  require(patterns.empty() || frozen < parameters.size(), "freeze: all ", frozen,
          " parameters are frozen, and none is left to train");
}

std::vector<ParameterGroup> parameter_groups(const NamedTensors& parameters, const TrainerConfig& config) {
  const std::int64_t layers = count_layers(parameters);
  // Ordered: what decays first, then from the top down.
  std::map<std::pair<bool, std::int64_t>, ParameterGroup> groups;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad()) {
      continue;
    }
    const bool decaying = decays(name, parameter);
    const std::int64_t below = config.layer_decay == 1.0 ? 0 : layers + 1 - layer_of(name, layers);
    ParameterGroup& group = groups[{!decaying, below}];
    group.parameters.emplace_back(name, parameter);
    group.weight_decay = decaying ? config.weight_decay : 0.0;
    group.rate_factor = std::pow(config.layer_decay, static_cast<double>(below));
  }
  std::vector<ParameterGroup> result;
  result.reserve(groups.size());
  for (auto& [key, group] : groups) {
    result.push_back(std::move(group));
  }
  return result;
}

std::unique_ptr<Optimizer> make_optimizer(const NamedTensors& parameters, const TrainerConfig& config) {
  const std::vector<ParameterGroup> groups = parameter_groups(parameters, config);
  const AdamOptions adam{config.beta1, config.beta2, config.epsilon};
  if (config.optimizer == "adafactor") {
    AdafactorOptions options;
    options.scale_by_parameter = config.relative_steps;
    return std::make_unique<Adafactor>(groups, options);
  }
  if (config.optimizer == "lamb") {
    return std::make_unique<Lamb>(groups, adam);
  }
  return std::make_unique<AdamW>(groups, adam);
}

}  // namespace weft::training
