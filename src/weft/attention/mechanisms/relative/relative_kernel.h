// SPDX-License-Identifier: Apache-2.0
// A relative call through the fused kernel (docs/kernel.md), where this process has one that takes it. Elsewhere
// relative_product.cpp computes the same with LibTorch's products.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/call.h"
#include "weft/attention/mechanisms/relative/relative_product.h"
#include "weft/attention/profile/attention_mass.h"

namespace weft::attention {

/// CPU and float32 in query, key and value, and what else the fused kernel asks for. relative_attention() widens half
/// types: q + u would lose digits in them.
bool has_relative_kernel(const RelativeCall& call);

/// Errors: kUnsupported where there is no memory for the kernel's workspace.
Forward relative_kernel_forward(const RelativeCall& call);

/// What the call is to an observer, on any device and in any dtype.
MassCall mass_call_of(const RelativeCall& call);

/// In the shapes and dtypes of the tensors of the call.
struct RelativeGradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor distances;
  at::Tensor content_bias;
  at::Tensor distance_bias;
  at::Tensor added;  ///< undefined where the call adds nothing
};
RelativeGradients relative_kernel_backward(const RelativeCall& call, const Forward& forward,
                                           const at::Tensor& output_gradient);

}  // namespace weft::attention
