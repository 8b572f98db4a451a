// SPDX-License-Identifier: Apache-2.0
// The convolution of Nystromformer over the values of a text, by the kernel of kernels/ where it can run.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// base + for each token the weighted values of the tokens around it: base and values [B, H, N, D] of one dtype, any
/// strides, weights [H, taps], taps odd; beyond the text nothing is added. Differentiable. `base` is written to where
/// no gradient is asked for, and so must be the caller's own. Float32 on a CPU takes the kernel, everything else
/// LibTorch's convolution.
at::Tensor add_convolution(const at::Tensor& base, const at::Tensor& values, const at::Tensor& weights);

}  // namespace weft::attention
