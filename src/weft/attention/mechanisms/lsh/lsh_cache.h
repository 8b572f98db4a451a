// SPDX-License-Identifier: Apache-2.0
// Token by token as `transformers` 5.23 does it with its cache: what a token sees is the chunk that it falls into when
// it is sorted among all tokens before it. That is not what the whole text gives (docs/long-texts/hashing.md).
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// What the released program calls so.
struct CacheRules {
  std::int64_t buckets = 2;  ///< of a round
  std::int64_t rounds = 1;
  std::int64_t chunk = 64;
  std::int64_t left = 1;  ///< chunks before and behind that a token sees
  std::int64_t right = 0;
  std::int64_t multiple = 64;  ///< tokens that a prompt longer than a chunk is padded to a multiple of
};

/// Numbers of a prompt's buckets int64 [B, H, R, N]: those of a round follow those of the round before. A prompt that
/// is padded has one bucket more in each round.
at::Tensor numbers_of_prompt(const at::Tensor& buckets, const CacheRules& rules);

/// The same for the tokens behind numbers `before` [B, H, R, K]. They count the bucket of padding only if a number
/// before shows it, as released: else their rounds begin earlier than those of a padded prompt.
at::Tensor numbers_behind(const at::Tensor& before, const at::Tensor& buckets, const CacheRules& rules);

/// What the last of rows x [B, H, N, D] gets of values [B, H, N, D_v]: [B, H, 1, D_v]. With `numbers` [B, H, R, N] it
/// sees, in each round, the chunks around its place among the N sorted tokens, which lie on a circle whose last chunk
/// may be short, so that a few tokens may be seen twice; without, every token. One softmax over all pairs; its own
/// score is -1e5.
at::Tensor last_row_from_cache(const at::Tensor& rows, const at::Tensor& value, const at::Tensor& numbers,
                               const CacheRules& rules);

}  // namespace weft::attention
