// SPDX-License-Identifier: Apache-2.0
// The portable path: attention over a layout, piece by piece, with LibTorch operators. Keeps query, key, value, output
// and log-sum-exp only; the workspace is a few copies of the inputs and one bounded piece.
#pragma once

#include "weft/attention/call.h"

namespace weft::attention {

/// `call` has zeros where keys are padded.
Forward block_forward(const Call& call);

/// `forward` holds the results of block_forward for the same call.
Gradients block_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient);

}  // namespace weft::attention
