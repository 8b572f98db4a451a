// SPDX-License-Identifier: Apache-2.0
// Running sums with LibTorch's operators: of causal linear attention, and those that forget.
#pragma once

#include "weft/attention/backends/backend.h"

namespace weft::attention {

at::Tensor portable_causal(const CausalCall& call);
CausalGradients portable_causal_gradients(const CausalCall& call, const at::Tensor& gradient);

/// Autograd follows it by itself.
at::Tensor portable_decayed(const DecayedCall& call);

}  // namespace weft::attention
