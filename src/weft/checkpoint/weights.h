// SPDX-License-Identifier: Apache-2.0
// A model's parameters against a file of tensors: every name and shape checked, in both directions, before a value
// moves.
#pragma once

#include <torch/nn/module.h>

#include "weft/checkpoint/tensors.h"

namespace weft::checkpoint {

/// Throws kFormat unless `file` holds exactly the parameters of `model` (which may be on the meta device): names a
/// missing, a surplus or a misshapen tensor with both shapes, and how many more there are.
void check_weights(const torch::nn::Module& model, const formats::TensorFile& file);

/// Copies the file's tensors into the parameters, converting from F32, F16 or BF16. Call check_weights before. With
/// `check_finite`, NaN or infinity is a kNumeric error that names the tensor.
void copy_weights(torch::nn::Module& model, const formats::TensorFile& file, bool check_finite);

}  // namespace weft::checkpoint
