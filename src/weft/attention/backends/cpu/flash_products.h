// SPDX-License-Identifier: Apache-2.0
// LibTorch's fused CPU attention over one piece, for single query rows that the kernels do not take.
#pragma once

#include "weft/attention/backends/answer.h"
#include "weft/attention/backends/blocks/products.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// Of a call that is_decoding().
Answer flash_takes(const Call& call);

/// CPU only, D = D_v, no dropout, no invalid keys.
PieceForward flash_forward(const PieceInputs& inputs);

}  // namespace weft::attention
