// SPDX-License-Identifier: Apache-2.0
// A text as whole blocks of tokens, whose sums are rows that all of it attends to (LongT5's transient-global tokens,
// Guo et al. 2022, section 3.1).
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/attention/context.h"

namespace weft::attention {

/// What tokens behind the last whole block of a row sum up to belongs to that block; a row shorter than a block has
/// none. Padding belongs to none, and a block whose last token is padding is not whole.
struct TextBlocks : CompanionStructure {
  std::int64_t size = 1;   ///< tokens of a block
  std::int64_t count = 0;  ///< whole blocks of the longest row
  at::Tensor of_token;     ///< int64 [B or 1, N]: the block of each token, -1 for none
  at::Tensor exists;       ///< bool [B, count]; undefined: all do

  /// Of rows [B, N, C]: the sum of each block, [B, count, C]. Differentiable; what padding holds reaches none.
  at::Tensor sums(const at::Tensor& rows) const;
};

/// Blocks of `size` tokens of the text that `context` describes, with rows [B, N, C].
TextBlocks text_blocks(const AttentionContext& context, const at::Tensor& rows, std::int64_t size);

}  // namespace weft::attention
