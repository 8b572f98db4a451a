// SPDX-License-Identifier: Apache-2.0
// Attention whose scores know distances (Dai et al. 2019, section 3.3), by the first backend that takes the call.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/mechanisms/relative/relative_call.h"

namespace weft::attention {

/// softmax_j(((q_i + u) . k_j + (q_i + v) . R[i - j] + k_j . R'[i - j]) / sqrt(D) + added[i - j]) V -> [B, H, Q, D_v]
/// in the dtype of query, sums in float32 (float64 for float64). Rows that see no key are zeros. NaN or infinity in a
/// value makes the rows NaN that see it, and no others. Gradients reach query, key, value, R, R', u, v and `added`;
/// double backward is an error.
at::Tensor relative_attention(const RelativeCall& call);

}  // namespace weft::attention
