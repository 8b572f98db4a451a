// SPDX-License-Identifier: Apache-2.0
// A layer whose text also attends to the sums of its blocks: `transient_global` (LongT5, Guo et al. 2022).
#pragma once

#include "weft/layers/blocks/attention_block.h"

namespace weft::layers {

/// x + f(norm(x)), where the keys and values of f begin with those of a row for each whole block of tokens: the sum of
/// the block's tokens as f sees them, behind a separate norm. The rows are made anew in every layer, and nobody sees
/// them behind it.
class SummedBlockImpl : public AttentionBlockImpl {
 public:
  SummedBlockImpl(const BlockConfig& config, SelfAttention self_attention, const at::TensorOptions& options);
  Rows forward(const Rows& x, const BlockContext& context) override;

  Norm side_norm{nullptr};  ///< of the sums
};

}  // namespace weft::layers
