// SPDX-License-Identifier: Apache-2.0
// A few rows behind many: how a decoder finds the last keys of its token's buckets.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// The last Q of K rows ask. What is remembered may be in any layout.
struct RecallCall {
  at::Tensor rows;     ///< x [B, H, K, D], as HashedRows::rows
  at::Tensor value;    ///< [B, H, K, D_v]
  at::Tensor buckets;  ///< int64 [B, H, R, K]
  std::int64_t queries = 1;
  std::int64_t window = 64;  ///< at most so many keys of a bucket are seen
};

/// What attention_by_rank() gives the last Q rows: for each round the last keys of the bucket are looked up among all.
/// [B, H, Q, D_v]; memory follows Q R (K + window D).
at::Tensor recalled_rows(const RecallCall& call);

}  // namespace weft::attention
