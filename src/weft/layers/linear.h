// SPDX-License-Identifier: Apache-2.0
// y = x W^T + b as one differentiable step that keeps only x and W, in the product dtype of precision.h: under bfloat16
// autocast x, W and y are bfloat16 numbers, on any processor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/inference/int8_weight.h"
#include "weft/layers/inference/packed_weight.h"
#include "weft/layers/replay/kept_operands.h"

namespace weft::layers {

/// x [..., in], weight [out, in], bias [out] or undefined -> [..., out] in the product dtype of `weight`. The gradients
/// of weight and bias keep the parameters' dtype. Double backward is an error.
at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
/// The same, with the forms that `operands` keeps of weight and bias, and where a decoder writes several texts under
/// autocast from a packed form of these.
at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, KeptOperands& operands,
                        PackedWeight& packed);

/// Some outputs of a linear layer: y = x W[begin : begin + count]^T + b[begin : begin + count].
class LinearRows {
 public:
  LinearRows(at::Tensor weight, at::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}
  /// Of a weight that is stored as int8; `bias` is that of these outputs.
  LinearRows(std::shared_ptr<const Int8Weight> weight, std::int64_t begin, std::int64_t count, at::Tensor bias)
      : bias_(std::move(bias)), int8_(std::move(weight)), begin_(begin), count_(count) {}
  /// [..., in] -> [..., count] in the product dtype; gradients reach the layer's parameters.
  at::Tensor operator()(const at::Tensor& x) const;
  /// The same product, whose parameters get no gradient.
  LinearRows detached() const;
  /// The numbers, for a product that is no layer's: [count, in], and [count] or undefined. They are a view of what the
  /// layer stores only as long as it stores floating point.
  at::Tensor weight() const { return int8_ ? int8_->numbers(begin_, count_) : weight_; }
  const at::Tensor& bias() const noexcept { return bias_; }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  std::shared_ptr<const Int8Weight> int8_;
  std::int64_t begin_ = 0;
  std::int64_t count_ = 0;
};

/// A linear layer's parameters around apply_linear(): "weight" [out, in] and, with a bias, "bias" [out]. Only the layer
/// knows how it stores them; others ask for products and for rows. A weight that it keeps as int8 is no parameter.
class LinearImpl : public torch::nn::Module, public KeepsInt8 {
 public:
  /// Storage only; the model initialises.
  LinearImpl(std::int64_t in, std::int64_t out, bool with_bias, const at::TensorOptions& options);
  /// [..., in] -> [..., out] in the product dtype.
  at::Tensor forward(const at::Tensor& x);
  /// activation(x W^T + b); a gated activation halves the width.
  at::Tensor activated(const at::Tensor& x, Activation activation);
  /// As any module; forms of the weight that were kept for inference are freed, since it will change.
  void train(bool on = true) override;

  /// All outputs, or `count` of them from `begin` on.
  LinearRows rows() const { return rows(0, outputs_); }
  LinearRows rows(std::int64_t begin, std::int64_t count) const;

  std::string int8_parameter() const override { return "weight"; }
  at::Tensor floating() const override { return weight_; }
  std::shared_ptr<const Int8Weight> kept() const override { return int8_; }
  void keep_int8(std::shared_ptr<const Int8Weight> weight) override;

 private:
  at::Tensor product(const at::Tensor& x, std::optional<Activation> activation);
  /// Multiplications and additions of a row.
  double operations_of_row() const;

  std::int64_t inputs_;
  std::int64_t outputs_;
  at::Tensor weight_;  // undefined where it is int8
  at::Tensor bias_;    // undefined without one
  std::shared_ptr<const Int8Weight> int8_;
  std::unique_ptr<PackedWeight> packed_ = std::make_unique<PackedWeight>();
  std::unique_ptr<KeptOperands> operands_ = std::make_unique<KeptOperands>();
};
TORCH_MODULE(Linear);

}  // namespace weft::layers
