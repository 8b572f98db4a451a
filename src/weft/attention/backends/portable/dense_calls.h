// SPDX-License-Identifier: Apache-2.0
// Calls that dense attention computes exactly, and LibTorch's operator for them on any device.
#pragma once

#include "weft/attention/backends/answer.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// Yes for full and causal layouts without padding, dropout or another term.
Answer dense_takes(const Call& call);

/// Autograd follows it by itself; log_sum_exp is undefined. NaN and infinity go where LibTorch's operator carries them.
Forward portable_dense_forward(const Call& call);

}  // namespace weft::attention
