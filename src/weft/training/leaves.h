// SPDX-License-Identifier: Apache-2.0
// A module's parameters as tasks hand them out and take them in.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

namespace weft::training {

/// Named parameters in the module's order.
std::vector<std::pair<std::string, at::Tensor>> leaves_of(const torch::nn::Module& module);

/// Copies the values of `source`, which has the same parameters, into the tensors of `target`: an optimiser that holds
/// these must not be left with old ones.
void copy_leaves(const torch::nn::Module& source, torch::nn::Module& target);

/// A fingerprint as a run writes it: 16 hexadecimal digits.
std::string fingerprint_text(std::uint64_t fingerprint);

}  // namespace weft::training
