// SPDX-License-Identifier: Apache-2.0
// Gradients against central differences in float64, which LibTorch has in Python only.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::testing {

/// A function of tensors that gives one tensor.
using TensorFunction = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// Expects that the gradients of <function(inputs), g>, g fixed and random, equal central differences for every entry
/// of every input: |difference| <= tolerance * (1 + |gradient|). Inputs are float64, small, and are left as they were.
void expect_gradients(const TensorFunction& function, const std::vector<at::Tensor>& inputs, double tolerance = 1e-6);

}  // namespace weft::testing
