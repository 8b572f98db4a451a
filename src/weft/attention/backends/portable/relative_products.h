// SPDX-License-Identifier: Apache-2.0
// A relative call over LibTorch's products, on every device and in every dtype.
#pragma once

#include "weft/attention/backends/backend.h"

namespace weft::attention {

/// It keeps no log-sum-exp: the backward pass computes the scores again.
RelativeForward portable_relative_forward(const RelativeCall& call);
RelativeGradients portable_relative_backward(const RelativeCall& call, const Forward& kept,
                                             const at::Tensor& output_gradient);

}  // namespace weft::attention
