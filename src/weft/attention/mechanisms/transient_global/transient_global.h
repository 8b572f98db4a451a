// SPDX-License-Identifier: Apache-2.0
// Transient-global attention (LongT5, Guo et al. 2022, section 3.1): each token sees a window, and one row for each
// block of the text, which the layer makes of the sum of the block's tokens and forgets behind it.
#pragma once

#include <string>
#include <vector>

#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/distance_biases.h"
#include "weft/attention/mechanisms/transient_global/text_blocks.h"
#include "weft/attention/permuted/permuted_attention.h"

namespace weft::attention {

/// `transient_global(radius=127, block=16)`, both optional: tokens that a token sees to each side, and tokens of a
/// block. Errors: kExpression.
MechanismSpec parse_transient_global(const std::string& expression);

/// One softmax over the window and the rows of all blocks. Where the site has buckets, the score of a token and a block
/// learns their distance in blocks (`side_biases`), as that of two tokens learns theirs in tokens (`distance_biases`).
///
/// Two parts of permuted_attention(). Tokens of one place within their blocks lie in a column, a block a place, and
/// each column sees a copy of the rows of blocks, so that the distance of two places is that of two blocks. Tokens
/// behind the last whole block have a column each, where they lie at the place of the block that they belong to.
class TransientGlobalAttention : public AttentionImpl {
 public:
  TransientGlobalAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  /// query [B, H, N, D]; key and value [B, H_kv, blocks + N, D], those of the blocks first. `context` describes the N
  /// tokens, and its structure is their TextBlocks. Errors: kArgument where it is not: a layer without blocks cannot
  /// attend like this.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;

  void share(AttentionImpl& first) override;
  std::vector<at::Tensor> shared_parameters() const override;

 private:
  PermutedPart window_part(const PermutedCall& call, const AttentionContext& context, const TextBlocks& blocks) const;
  PermutedPart block_part(const PermutedCall& call, const TextBlocks& blocks) const;

  std::int64_t radius_ = 0;
  DistanceBiases biases_;       // of tokens
  DistanceBiases side_biases_;  // of tokens and blocks
};

}  // namespace weft::attention
