// SPDX-License-Identifier: Apache-2.0
// Models small enough for tests.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include "weft/models/language_model.h"

namespace weft::test {

/// Two layers of width 16 over bytes, with dropout off.
inline models::TransformerConfig small_config() {
  models::TransformerConfig config;
  config.hidden_size = 16;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 24;
  config.max_position_embeddings = 64;
  config.initializer_range = 0.3;  // far from zero, so that every part shows in the logits
  return config;
}

inline at::Tensor random_ids(std::int64_t batch, std::int64_t length) {
  return at::randint(256, {batch, length}, at::TensorOptions().dtype(at::kLong));
}

inline models::ModelInput input_of(const at::Tensor& ids) {
  models::ModelInput input;
  input.input_ids = ids;
  return input;
}

/// The same weights for the same config; in evaluation mode.
inline models::LanguageModel make_model(const models::TransformerConfig& config) {
  torch::manual_seed(1234);
  models::LanguageModel model(config);
  model->eval();
  return model;
}

/// The same model with weights of bfloat16, in evaluation mode.
inline models::LanguageModel in_bfloat16(const models::LanguageModel& model) {
  models::LanguageModel half(model->config(), at::TensorOptions(at::kBFloat16));
  const at::NoGradGuard without_gradients;
  const auto given = model->named_parameters();
  for (auto& parameter : half->named_parameters()) {
    parameter.value().copy_(given[parameter.key()]);
  }
  half->eval();
  return half;
}

}  // namespace weft::test
