// SPDX-License-Identifier: Apache-2.0
// y = x W^T + b as one differentiable step that keeps only x and W, in the product dtype of precision.h: under bfloat16
// autocast x, W and y are bfloat16 numbers, on any processor.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/inference/packed_weight.h"

namespace weft::layers {

/// x [..., in], weight [out, in], bias [out] or undefined -> [..., out] in the product dtype of `weight`. The gradients
/// of weight and bias keep the parameters' dtype. Double backward is an error.
at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// Some outputs of a linear layer: y = x W[begin : begin + count]^T + b[begin : begin + count].
class LinearRows {
 public:
  LinearRows(at::Tensor weight, at::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}
  /// [..., in] -> [..., count] in the product dtype; gradients reach the layer's parameters.
  at::Tensor operator()(const at::Tensor& x) const { return apply_linear(x, weight_, bias_); }
  /// The same product, whose parameters get no gradient.
  LinearRows detached() const;
  /// The numbers, for a product that is no layer's: [count, in], and [count] or undefined. They are a view of what the
  /// layer stores only as long as it stores floating point.
  const at::Tensor& weight() const noexcept { return weight_; }
  const at::Tensor& bias() const noexcept { return bias_; }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

/// A linear layer's parameters around apply_linear(): "weight" [out, in] and, with a bias, "bias" [out]. Only the layer
/// knows how it stores them; others ask for products and for rows.
class LinearImpl : public torch::nn::Module {
 public:
  /// Storage only; the model initialises.
  LinearImpl(std::int64_t in, std::int64_t out, bool with_bias, const at::TensorOptions& options);
  /// [..., in] -> [..., out] in the product dtype.
  at::Tensor forward(const at::Tensor& x);
  /// activation(x W^T + b); a gated activation halves the width.
  at::Tensor activated(const at::Tensor& x, Activation activation);

  /// All outputs, or `count` of them from `begin` on.
  LinearRows rows() const { return {weight_, bias_}; }
  LinearRows rows(std::int64_t begin, std::int64_t count) const;

 private:
  /// Multiplications and additions of a row.
  double operations_of_row() const;

  at::Tensor weight_;
  at::Tensor bias_;  // undefined without one
  std::unique_ptr<PackedWeight> packed_ = std::make_unique<PackedWeight>();
};
TORCH_MODULE(Linear);

}  // namespace weft::layers
