// SPDX-License-Identifier: Apache-2.0
// Attention over a layout, piece by piece, with LibTorch operators: kPortable and kFlash. Keeps query, key, value,
// output and log-sum-exp only; the workspace is a few copies of the inputs and one bounded piece.
#pragma once

#include "weft/attention/call.h"

namespace weft::attention {

enum class BlockArithmetic { kPortable, kFlash };

Forward block_forward(const Call& call, BlockArithmetic arithmetic);

/// `forward` holds the results of block_forward for the same call.
Gradients block_backward(const Call& call, BlockArithmetic arithmetic, const Forward& forward,
                         const at::Tensor& output_gradient);

/// Whether kFlash can serve the call.
bool flash_supports(const Call& call);

}  // namespace weft::attention
