// SPDX-License-Identifier: Apache-2.0
// One attention call: what every path is given, and what travels from the front door or the dispatcher to a kernel and
// on to the backward pass. Paths know nothing of autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"
#include "weft/attention/layout.h"
#include "weft/kernels/arguments.h"

namespace weft::attention {

/// Shapes as in attention(). Key and value may hold anything where they are padded.
struct Call {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor key_keep;  ///< bool [B, K] or undefined
  LayoutPtr layout;
  double scale = 1.0;
  kernels::Dropout dropout;
  at::Tensor slopes;        ///< of the position bias: float32 [1 to 3, H] on the device of query, or undefined
  Path path = Path::kAuto;  ///< of a checked call never kAuto
};

/// output [B, H, Q, D_v] in the dtype of query; log_sum_exp [B, H, Q] in float32 (float64 for float64).
struct Forward {
  at::Tensor output;
  at::Tensor log_sum_exp;
};

/// In the shapes and dtypes of query, key and value.
struct Gradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
};

}  // namespace weft::attention
