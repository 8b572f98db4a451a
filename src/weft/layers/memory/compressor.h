// SPDX-License-Identifier: Apache-2.0
// Rows that leave a memory, made into fewer (Compressive Transformer: Rae et al. 2020, sections 3.1 and 3.2).
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/attention/self_attention.h"

namespace weft::layers {

/// Only a convolution learns anything: y_i = b + sum over t < rate of W_t x_(rate i + t).
class CompressorImpl : public torch::nn::Module {
 public:
  /// Storage only.
  CompressorImpl(const CompressionConfig& config, std::int64_t hidden, const at::TensorOptions& options);
  /// Rows [B, n, hidden], n a multiple of the rate -> [B, n / rate, hidden].
  at::Tensor forward(const at::Tensor& rows);

  at::Tensor weight;  ///< [hidden, rate hidden], the columns of the oldest row first; a convolution's
  at::Tensor bias;    ///< [hidden]

 private:
  CompressionConfig config_;
};
TORCH_MODULE(Compressor);

/// Attention-reconstruction loss (section 3.2): the mean squared difference of what `queries` [B, N, hidden] read from
/// `old` rows [B, n, hidden] and from `fresh` ones [B, m, hidden], by content alone, with the projections of
/// `attention`. All three are as that attention sees them. Gradients reach `fresh`, and nothing else.
at::Tensor reconstruction_loss(const SelfAttentionImpl& attention, const at::Tensor& queries, const at::Tensor& old,
                               const at::Tensor& fresh);

}  // namespace weft::layers
