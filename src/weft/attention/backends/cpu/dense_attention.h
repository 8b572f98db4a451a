// SPDX-License-Identifier: Apache-2.0
// LibTorch's own dense attention on a CPU, for layouts that are exactly full or exactly causal: there nothing is sparse
// to gain.
#pragma once

#include "weft/attention/backends/answer.h"
#include "weft/attention/call.h"

namespace weft::attention {

Answer cpu_dense_takes(const Call& call);

/// LibTorch's operator would carry NaN and infinity to keys behind the causal edge. Where the call has such numbers the
/// blocks' products are its definition here, which do not (docs/kernel.md).
Forward cpu_dense_forward(const Call& call);
Gradients cpu_dense_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient);

}  // namespace weft::attention
