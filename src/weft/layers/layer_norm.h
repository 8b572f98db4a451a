// SPDX-License-Identifier: Apache-2.0
// Layer normalisation over the last dimension (Ba et al. 2016), in the precision of its input and at least float32.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

namespace weft::layers {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias.
class LayerNormImpl : public torch::nn::Module {
 public:
  /// Storage only; the model initialises.
  LayerNormImpl(std::int64_t width, double epsilon, const at::TensorOptions& options);
  /// [..., width] of any floating dtype -> the same shape in the weights' dtype, that of the statistics: float32 for
  /// bfloat16 input under autocast.
  at::Tensor forward(const at::Tensor& x);
  /// The same, whose parameters get no gradient.
  at::Tensor with_fixed_parameters(const at::Tensor& x) const;

  at::Tensor weight;  ///< [width]
  at::Tensor bias;    ///< [width]

 private:
  double epsilon_;
};
TORCH_MODULE(LayerNorm);

}  // namespace weft::layers
