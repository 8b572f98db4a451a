// SPDX-License-Identifier: Apache-2.0
// One transformer block: self-attention and feed-forward, each with a residual connection, dropout and a layer norm
// before or after.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/block_config.h"
#include "weft/layers/feed_forward.h"
#include "weft/layers/layer_norm.h"
#include "weft/layers/self_attention.h"

namespace weft::layers {

/// Pre-norm: x + f(norm(x)) for attention, then feed-forward (Xiong et al. 2020). Post-norm: norm(x + f(x)) (Vaswani et
/// al. 2017).
class TransformerBlockImpl : public torch::nn::Module {
 public:
  TransformerBlockImpl(const BlockConfig& config, const at::TensorOptions& options);
  /// [B, N, hidden] -> [B, N, hidden]. The residual stream keeps the parameters' dtype under autocast.
  at::Tensor forward(const at::Tensor& x, const BlockContext& context);

  SelfAttention attention{nullptr};
  LayerNorm attention_norm{nullptr};
  FeedForward feed_forward{nullptr};
  LayerNorm feed_forward_norm{nullptr};

 private:
  at::Tensor drop(const at::Tensor& x, const BlockContext& context, std::int64_t site) const;

  std::int64_t layer_;
  bool norm_first_;
  double dropout_;
};
TORCH_MODULE(TransformerBlock);

}  // namespace weft::layers
