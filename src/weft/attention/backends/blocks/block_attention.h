// SPDX-License-Identifier: Apache-2.0
// Attention over a layout, piece by piece, with LibTorch's operators, on every device. Keeps query, key, value, output
// and log-sum-exp only; the workspace is a few copies of the inputs and one bounded piece.
#pragma once

#include "weft/attention/backends/answer.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// Yes, but for a relative term.
Answer blocks_take(const Call& call);

/// Key and value may hold anything where they are padded.
Forward block_forward(const Call& call);

/// `forward` holds the results of block_forward for the same call.
Gradients block_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient);

}  // namespace weft::attention
