// SPDX-License-Identifier: Apache-2.0
// The first weights of a model, as published.
#pragma once

#include <torch/nn/module.h>

#include "weft/models/transformer_config.h"

namespace weft::models {

/// Matrices normal(0, initializer_range), biases 0, norm weights 1 (Radford et al. 2018, section 4.1; Devlin et al.
/// 2019, as released). In a pre-norm model the matrices that write to the residual stream are divided by sqrt(2
/// layers), one for each of its residual layers (Radford et al. 2019, section 2.3). Parameters of attention mechanisms
/// are left as those set them. Draws come from LibTorch's default generator.
void initialize(torch::nn::Module& model, const TransformerConfig& config);

}  // namespace weft::models
