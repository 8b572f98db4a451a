// SPDX-License-Identifier: Apache-2.0
// Initial weights by the role that a parameter's name tells.
#include "weft/models/initialization.h"

#include <c10/core/GradMode.h>

#include <cmath>
#include <string_view>

namespace weft::models {
namespace {

// By the names that the modules register: a layer that is renamed is told apart here no longer.
bool writes_to_residual(std::string_view name) {
  return name.ends_with("attention.output.weight") || name.ends_with("feed_forward.down.weight");
}

void initialize_one(std::string_view name, at::Tensor& parameter, const TransformerConfig& config) {
  if (name.ends_with("bias")) {
    parameter.zero_();
  } else if (name.ends_with("norm.weight")) {
    parameter.fill_(1.0);
  } else {
    const bool scaled = config.norm_position == "pre" && writes_to_residual(name);
    const double residual_layers = 2.0 * static_cast<double>(config.num_hidden_layers);
    parameter.normal_(0.0, config.initializer_range / (scaled ? std::sqrt(residual_layers) : 1.0));
  }
}

}  // namespace

void initialize(torch::nn::Module& model, const TransformerConfig& config) {
  const at::NoGradGuard without_gradients;
  for (auto& parameter : model.named_parameters()) {
    if (parameter.key().find(".mechanism.") == std::string::npos) {
      initialize_one(parameter.key(), parameter.value(), config);
    }
  }
}

}  // namespace weft::models
