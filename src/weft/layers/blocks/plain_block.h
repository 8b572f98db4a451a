// SPDX-License-Identifier: Apache-2.0
// The transformer block: self-attention, cross-attention where the config has it, feed-forward.
#pragma once

#include "weft/layers/blocks/attention_block.h"

namespace weft::layers {

/// The sublayers in turn (attention_block.h). Of a pre-norm block without cross-attention reversible layers can be
/// made.
class PlainBlockImpl : public AttentionBlockImpl {
 public:
  PlainBlockImpl(const BlockConfig& config, SelfAttention self_attention, const at::TensorOptions& options);

  /// A text without companions.
  Rows forward(const Rows& x, const BlockContext& context) override;
  ReversibleLayer reversible(const BlockContext& context) override;
  SourceHeads source_heads(const at::Tensor& hidden) override;

  /// What a pre-norm block of two sublayers adds, for residual connections of another kind: dropout(f(norm(x))),
  /// [B, N, hidden] -> [B, N, hidden].
  at::Tensor attention_branch(const at::Tensor& x, const BlockContext& context);
  at::Tensor feed_forward_branch(const at::Tensor& x, const BlockContext& context);

  CrossAttention cross_attention{nullptr};
  Norm cross_attention_norm{nullptr};

 private:
  /// What attention sees of the memory, [B, M, hidden]; undefined without one.
  at::Tensor memory_rows(const BlockContext& context);

  std::size_t layer_;
};

}  // namespace weft::layers
