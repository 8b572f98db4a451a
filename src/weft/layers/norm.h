// SPDX-License-Identifier: Apache-2.0
// Normalisation over the last dimension, in the precision of its input and at least float32.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/norm_config.h"

namespace weft::layers {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, or with NormKind::kRms
/// y = x / sqrt(mean(x^2) + epsilon) * weight, or with NormKind::kNone y = x.
class NormImpl : public torch::nn::Module {
 public:
  /// Storage only; the model initialises.
  NormImpl(std::int64_t width, const NormConfig& config, const at::TensorOptions& options);
  /// [..., width] of any floating dtype -> the same shape in the weights' dtype, that of the statistics: float32 for
  /// bfloat16 input under autocast. Where nothing is done, in the dtype of x.
  at::Tensor forward(const at::Tensor& x);
  /// forward(x + given) of a residual connection, x and given [..., width]; nobody else has `given` any more. In one
  /// pass over memory, and in the memory of `given`, where kernels take it: at inference on a CPU, 64 rows or more, all
  /// in float32 or all in bfloat16.
  at::Tensor of_sum(const at::Tensor& x, at::Tensor given);
  /// The same as forward(), whose parameters get no gradient.
  at::Tensor with_fixed_parameters(const at::Tensor& x) const;

  at::Tensor weight;  ///< [width]; undefined where nothing is done
  at::Tensor bias;    ///< [width], or undefined

 private:
  at::Tensor normalised(const at::Tensor& x, const at::Tensor& its_weight, const at::Tensor& its_bias) const;
  /// Whether the kernels norm rows like x.
  bool kernels_take(const at::Tensor& x) const;
  /// Writes the norm of x, or of x + added, into `output`.
  void run_kernel(const at::Tensor& x, const at::Tensor* added, const at::Tensor& output) const;

  NormConfig config_;
};
TORCH_MODULE(Norm);

}  // namespace weft::layers
