// SPDX-License-Identifier: Apache-2.0
// Multi-head self-attention around any mechanism: fused projection, heads, rotary positions, cache, mechanism, output
// projection.
#pragma once

#include <memory>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/block_config.h"
#include "weft/layers/linear.h"

namespace weft::layers {

/// softmax(Q K^T / sqrt(D)) V over the edges of the mechanism, head by head (Vaswani et al. 2017, section 3.2).
class SelfAttentionImpl : public torch::nn::Module {
 public:
  /// Errors: kExpression for a bad mechanism string.
  SelfAttentionImpl(const BlockConfig& config, const at::TensorOptions& options);
  /// x [B, N, hidden] -> [B, N, hidden]. With a cache, keys and values of x are appended to it and x attends to all of
  /// them.
  at::Tensor forward(const at::Tensor& x, const BlockContext& context);
  /// The mechanism's canonical string.
  std::string description() const { return mechanism_->description(); }

  Linear qkv{nullptr};     ///< hidden -> (heads + 2 key_value_heads) * head_dim: queries, keys, values
  Linear output{nullptr};  ///< hidden -> hidden

 private:
  std::int64_t layer_;
  std::int64_t heads_;
  std::int64_t key_value_heads_;
  std::shared_ptr<attention::AttentionImpl> mechanism_;
};
TORCH_MODULE(SelfAttention);

}  // namespace weft::layers
