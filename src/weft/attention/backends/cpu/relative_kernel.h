// SPDX-License-Identifier: Apache-2.0
// A relative call through the fused kernel (docs/kernel.md).
#pragma once

#include "weft/attention/backends/backend.h"

namespace weft::attention {

/// Yes on a CPU for float32 in query, key and value, and for half types, which are computed in float32, where the fused
/// kernel takes the rest of the call.
Answer kernel_takes_relative(const RelativeCall& call);

/// Errors: kUnsupported where there is no memory for the kernel's workspace. What is kept is in float32.
RelativeForward kernel_relative_forward(const RelativeCall& call);
RelativeGradients kernel_relative_backward(const RelativeCall& call, const Forward& kept,
                                           const at::Tensor& output_gradient);

}  // namespace weft::attention
