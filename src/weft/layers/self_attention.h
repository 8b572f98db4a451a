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
  /// The canonical string of the mechanism, or of the one for short inputs where there is one.
  std::string description(bool short_input = false) const;
  /// Whether the mechanism asks for positions bound to `input`.
  bool needs_input() const noexcept { return needs_input_; }

  Linear qkv{nullptr};         ///< hidden -> (heads + 2 key_value_heads) * head_dim: queries, keys, values
  Linear output{nullptr};      ///< hidden -> hidden
  Linear global_qkv{nullptr};  ///< hidden -> 3 hidden: those of the positions bound to `input` (Longformer)

 private:
  /// Replaces the rows of the positions bound to `input`, where they have projections of their own.
  at::Tensor with_globals(const at::Tensor& mixed, const at::Tensor& x, const attention::AttentionContext& context);

  BlockConfig config_;
  std::shared_ptr<attention::AttentionImpl> mechanism_;
  std::shared_ptr<attention::AttentionImpl> short_mechanism_;  // or null
  bool needs_input_;
};
TORCH_MODULE(SelfAttention);

}  // namespace weft::layers
