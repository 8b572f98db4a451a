// SPDX-License-Identifier: Apache-2.0
// A parameter's role is read from its name.
#include "weft/models/stack/initialize.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string>

#include "weft/attention/mechanism.h"

namespace weft::models {
namespace {

// By the names that the modules register: a layer that is renamed is told apart here no longer.
bool writes_to_residual(std::string_view name) {
  return name.ends_with("attention.output.weight") || name.ends_with("feed_forward.down.weight");
}

// Columns of the weight: the inputs of a product [out, in], or the width of a table, whose rows are added up where a
// position has two or three.
double fan_in_range(std::string_view name, const at::Tensor& parameter) {
  constexpr double kScale = 0.125;
  if (name.ends_with("head.weight")) {
    return 0.0;
  }
  const auto is_of = [&](std::string_view module) { return name.find(module) != std::string_view::npos; };
  const double added = is_of("picture_positions.") ? 3.0 : (is_of("stride_positions.") ? 2.0 : 1.0);
  return kScale / std::sqrt(added * static_cast<double>(parameter.size(-1)));
}

double range_of(std::string_view name, const at::Tensor& parameter, const Initializer& initializer) {
  const auto found = std::find_if(initializer.ranges.begin(), initializer.ranges.end(),
                                  [&](const auto& row) { return name.ends_with(row.first); });
  if (found != initializer.ranges.end()) {
    return found->second;
  }
  const double divisor = writes_to_residual(name) ? initializer.residual_divisor : 1.0;
  return (initializer.by_fan_in ? fan_in_range(name, parameter) : initializer.range) / divisor;
}

/// normal(0, range) between its cutoffs, from a uniform draw through the inverse of the distribution function.
void draw(at::Tensor& parameter, double range, const Initializer& initializer) {
  if (initializer.cutoff == 0.0) {
    parameter.normal_(0.0, range, initializer.generator);
    return;
  }
  const double farthest = std::erf(initializer.cutoff / std::numbers::sqrt2);
  parameter.uniform_(-farthest, farthest, initializer.generator).erfinv_().mul_(range * std::numbers::sqrt2);
  parameter.clamp_(-initializer.cutoff * range, initializer.cutoff * range);
}

void initialize_parameter(std::string_view name, at::Tensor& parameter, const Initializer& initializer) {
  if (name.ends_with("bias")) {
    parameter.zero_();
  } else if (name.ends_with("norm.weight")) {
    parameter.fill_(1.0);
    if (initializer.norm_range > 0) {
      parameter.normal_(1.0, initializer.norm_range, initializer.generator);
    }
  } else if (name.ends_with("projection")) {
    // Rows through it keep their size, into a cluster of few columns and out of it, unless a range is published.
    const double keeping = 1.0 / std::sqrt(static_cast<double>(parameter.size(1)));
    parameter.normal_(0.0, initializer.projection_range > 0 ? initializer.projection_range : keeping,
                      initializer.generator);
  } else {
    draw(parameter, range_of(name, parameter, initializer), initializer);
  }
  const bool has_padding_row =
      name.ends_with("embeddings.tokens") || (initializer.padding_position && name.ends_with("embeddings.positions"));
  if (initializer.padding_id >= 0 && has_padding_row) {
    parameter[initializer.padding_id].zero_();
  }
}

/// What attention mechanisms learn: they set it themselves.
std::set<std::string> of_mechanisms(const torch::nn::Module& model) {
  std::set<std::string> names;
  for (const auto& module : model.named_modules("", false)) {
    if (const auto* mechanism = module.value()->as<attention::AttentionImpl>()) {
      for (const std::string& name : mechanism->spec().parameters) {
        names.insert(module.key() + "." + name);
      }
    }
  }
  return names;
}

}  // namespace

void initialize(torch::nn::Module& model, const Initializer& initializer, std::string_view only) {
  const at::NoGradGuard without_gradients;
  const std::set<std::string> left_out = of_mechanisms(model);
  for (auto& parameter : model.named_parameters()) {
    if (parameter.key().starts_with(only) && !left_out.contains(parameter.key())) {
      initialize_parameter(parameter.key(), parameter.value(), initializer);
    }
  }
}

}  // namespace weft::models
