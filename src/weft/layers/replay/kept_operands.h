// SPDX-License-Identifier: Apache-2.0
// The forms of a layer's parameters that products of a GPU take under autocast, made once for forward pass,
// recomputation and backward pass of a step: each making is a launch, and reads the parameter in float32.
#pragma once

#include <mutex>

#include <ATen/core/Tensor.h>

#include "weft/layers/inference/packed_weight.h"

namespace weft::layers {

/// Parameters in the dtype of a product; undefined where the product makes its own.
struct Operands {
  at::Tensor weight;
  at::Tensor bias;
};

/// Made at the first call, and again when the weight or the bias has changed, as far as PackedWeight says that LibTorch
/// counts. What was made before stays what it was, for whoever still refers to it.
class KeptOperands {
 public:
  /// `weight`, and `bias` where it is defined, in `dtype`. Both undefined on a CPU, whose passes make them as they go,
  /// and where the parameters have the dtype. Thread-safe.
  Operands of(const at::Tensor& weight, const at::Tensor& bias, at::ScalarType dtype);

 private:
  std::mutex mutex_;
  Operands kept_;
  PackedSource weight_;
  PackedSource bias_;
};

}  // namespace weft::layers
