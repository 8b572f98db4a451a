// SPDX-License-Identifier: Apache-2.0
// Weights of a model in a model of another attention, whose parameters have the same names.
#pragma once

#include <torch/nn/module.h>

#include <string>

namespace weft::checkpoint {

/// The weight that was found for the parameter `name` of the new model. Errors: kArgument where none was: the new
/// attention learns a weight that the old one does not have.
const at::Tensor& found_weight(const at::Tensor* found, const std::string& name);

/// Each parameter of `to` takes the value of that name in `from`; what `from` keeps as int8, `to` keeps too. Errors: as
/// found_weight.
void copy_weights(const torch::nn::Module& from, torch::nn::Module& to);

}  // namespace weft::checkpoint
