// SPDX-License-Identifier: Apache-2.0
// What backends compute besides attention over a layout (call.h) and attention that knows distances (relative_call.h):
// each kind of call as the tensors and numbers that it has.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/core/random.h"

namespace weft::attention {

/// base[b, h, n, :] + sum over t of weights[h, t] values[b, h, n + t - taps / 2, :]; beyond the text nothing is added.
struct ConvolutionCall {
  at::Tensor base;     ///< [B, H, N, D] in the dtype of values, any strides
  at::Tensor values;   ///< [B, H, N, D], any strides
  at::Tensor weights;  ///< [H, taps], taps odd
  bool may_write_base = false;
};
/// The gradient of `base` is that of the result. Undefined where it was not asked for.
struct ConvolutionGradients {
  at::Tensor values;
  at::Tensor weights;
};

/// causal_product() in mechanisms/linear/causal_product.h; `sums` and `levels` may be undefined.
struct CausalCall {
  at::Tensor rows;
  at::Tensor keys;
  at::Tensor values;
  at::Tensor sums;
  at::Tensor levels;
};
struct CausalGradients {
  at::Tensor rows;
  at::Tensor keys;
  at::Tensor values;
  at::Tensor sums;  ///< undefined where the call has none
};

/// decayed_product() in mechanisms/linear/decayed_product.h; `sums` may be undefined.
struct DecayedCall {
  at::Tensor rows;
  at::Tensor keys;
  at::Tensor values;
  at::Tensor log_gates;
  at::Tensor sums;
};

/// seeded_dropout() in seeded_dropout.h.
struct DropoutCall {
  at::Tensor x;  ///< contiguous
  double probability = 0.0;
  DropoutSeed seed;
};

/// layers::rotate() in layers/rotary.h.
struct RotationCall {
  at::Tensor x;       ///< [B, H, N, D] with contiguous columns
  at::Tensor cosine;  ///< [N, D / 2], float32 (float64 for float64), contiguous
  at::Tensor sine;    ///< likewise
  bool is_inverse = false;
};

}  // namespace weft::attention
