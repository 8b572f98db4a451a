// SPDX-License-Identifier: Apache-2.0
// LittleBird's block (Lee, Han and Shin 2022): a text is packed into latents, and its tokens attend to what was packed
// and to their neighbours.
#pragma once

#include "weft/layers/blocks/attention_block.h"

namespace weft::layers {

/// Companions are the latents P [B, latents, hidden] of a text X; with post-norm
///   C = pack(P, X),  P' = norm(P + C),  A = norm(X + attention(X, [C ; X])),  X' = norm(A + feed_forward(A)).
/// With pre-norm, X and P go through their norms in front of both attentions. The first latents are learned: a
/// parameter `latents` [latents, hidden] of the stack, the same for all texts.
class PackedBlockImpl : public AttentionBlockImpl {
 public:
  PackedBlockImpl(const BlockConfig& config, SelfAttention self_attention, const at::TensorOptions& options);

  Rows forward(const Rows& x, const BlockContext& context) override;
  CompanionFactory companions() const override;

  CrossAttention pack{nullptr};  ///< of latents to the text
  Norm pack_norm{nullptr};
};

}  // namespace weft::layers
