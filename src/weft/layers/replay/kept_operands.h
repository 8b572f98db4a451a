// SPDX-License-Identifier: Apache-2.0
// The forms of a layer's parameters that products take under autocast, made once: on a GPU for forward pass,
// recomputation and backward pass of a step, because each making is a launch and reads the parameter in float32; on a
// CPU for the tokens that a decoder writes.
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

/// While it lives, KeptOperands of this thread keep their forms on a CPU, too: a decoder multiplies one row, or a few,
/// by the same weights at every token, and rounding the weights takes several times as long as such a product.
class KeepingOperands {
 public:
  /// Without `keeps` it changes nothing.
  explicit KeepingOperands(bool keeps) noexcept;
  ~KeepingOperands();
  /// Whether one of this thread lives that keeps.
  static bool is_on() noexcept;
  KeepingOperands(const KeepingOperands&) = delete;
  KeepingOperands& operator=(const KeepingOperands&) = delete;

 private:
  bool before_;
};

/// Made at the first call, and again when the weight or the bias has changed, as far as PackedWeight says that LibTorch
/// counts. What was made before stays what it was, for whoever still refers to it.
class KeptOperands {
 public:
  /// `weight`, and `bias` where it is defined, as operands of products in `dtype` (precision.h). Both undefined where
  /// the parameters have the dtype, and on a CPU, whose passes make them as they go, but under KeepingOperands.
  /// Thread-safe.
  Operands of(const at::Tensor& weight, const at::Tensor& bias, at::ScalarType dtype);

 private:
  std::mutex mutex_;
  Operands kept_;
  at::ScalarType dtype_ = at::ScalarType::Undefined;  // of products; where these are emulated the forms are float32
  PackedSource weight_;
  PackedSource bias_;
};

}  // namespace weft::layers
