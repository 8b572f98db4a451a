// SPDX-License-Identifier: Apache-2.0
// Attention with its gradients, over a call in this process or over the arguments of one that is traced.
#pragma once

#include "weft/attention/operator/operator.h"

namespace weft::attention {

/// Whether autograd follows the call.
bool asks_for_gradients(const Call& call);

/// Differentiable by query, key, value and distance table; log_sum_exp is not. A second derivative is an error.
Forward differentiable(const Call& call);
Forward differentiable(const Arguments& arguments);

}  // namespace weft::attention
