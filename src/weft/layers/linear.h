// SPDX-License-Identifier: Apache-2.0
// y = x W^T + b as one differentiable step that keeps only x and W, in the product dtype of precision.h: under bfloat16
// autocast x, W and y are bfloat16 numbers, on any processor.
#pragma once

#include <cstdint>
#include <memory>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/inference/packed_weight.h"

namespace weft::layers {

/// x [..., in], weight [out, in], bias [out] or undefined -> [..., out] in the product dtype of `weight`. The gradients
/// of weight and bias keep the parameters' dtype. Double backward is an error.
at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// A linear layer's parameters around apply_linear().
class LinearImpl : public torch::nn::Module {
 public:
  /// Storage only; the model initialises.
  LinearImpl(std::int64_t in, std::int64_t out, bool with_bias, const at::TensorOptions& options);
  /// [..., in] -> [..., out] in the product dtype.
  at::Tensor forward(const at::Tensor& x);
  /// activation(x W^T + b); a gated activation halves the width.
  at::Tensor activated(const at::Tensor& x, Activation activation);

  at::Tensor weight;  ///< [out, in]
  at::Tensor bias;    ///< [out], or undefined

 private:
  std::unique_ptr<PackedWeight> packed_ = std::make_unique<PackedWeight>();
};
TORCH_MODULE(Linear);

}  // namespace weft::layers
