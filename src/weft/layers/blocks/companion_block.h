// SPDX-License-Identifier: Apache-2.0
// ETC's block (Ainslie et al. 2020): a text and companions that the call brought go through one attention together.
#pragma once

#include "weft/layers/blocks/attention_block.h"

namespace weft::layers {

/// Companions G [B, G, hidden] and text X have an output projection and a norm of attention each, and share all else;
/// with post-norm
///   [A_G ; A_X] = attention(G, X),  A = [norm_G(G + A_G) ; norm(X + A_X)],  [G' ; X'] = norm(A + feed_forward(A)).
/// AttentionContext::companions says how many there are; where they come from, the config of the stack says.
class CompanionBlockImpl : public AttentionBlockImpl {
 public:
  CompanionBlockImpl(const BlockConfig& config, SelfAttention self_attention, const at::TensorOptions& options);

  Rows forward(const Rows& x, const BlockContext& context) override;

  Norm global_attention_norm{nullptr};  ///< of companions; the name is that of its parameters in files
};

}  // namespace weft::layers
