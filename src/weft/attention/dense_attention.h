// SPDX-License-Identifier: Apache-2.0
// LibTorch's own dense attention, for layouts that are exactly full or exactly causal: there nothing is sparse to gain.
#pragma once

#include "weft/attention/call.h"

namespace weft::attention {

/// Whether dense attention computes exactly this call: full or causal layout, no padding, no dropout.
bool is_dense(const Call& call);

/// CPU only, where the operator also returns the log-sum-exp.
Forward dense_forward(const Call& call);
Gradients dense_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient);

}  // namespace weft::attention
