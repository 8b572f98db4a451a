// SPDX-License-Identifier: Apache-2.0
// Rows that are hashed, and attention among those that lie near each other once they are sorted by bucket: several
// rounds, one softmax over all of them.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/core/random.h"

namespace weft::attention {

/// What makes keys of rows x [..., D]: rsqrt(mean(x^2) + 1e-6) / sqrt(D), [..., 1]. Keys have length 1.
at::Tensor key_factor(const at::Tensor& rows);

/// Rows of one call or of a part of its batch, and what they are hashed to.
struct HashedRows {
  at::Tensor rows;     ///< x [B, H, N, D]: the queries; x key_factor(x) are the keys
  at::Tensor value;    ///< [B, H, N, D_v]
  at::Tensor buckets;  ///< int64 [B, H, R, N]; those of padding lie behind all others
  at::Tensor keep;     ///< bool [B, N] or undefined: all
  double dropout = 0.0;
  DropoutSeed seed;
};

/// Chunks as released: N = n * chunk; a row sees its own chunk, `left` before it and `right` behind it. The chunks of
/// all rounds are one circle.
struct HashChunks {
  std::int64_t chunk = 64;
  std::int64_t left = 1;
  std::int64_t right = 0;
  bool by_position = false;  ///< without later positions
};

/// Scores are q_i . k_j, and -1e5 for i = j: a row sees itself only where it sees nothing else. Each round gives an
/// output o_r and a log-sum-exp l_r; the result is sum_r softmax(l)_r o_r [B, H, N, D_v] in the dtype of rows, sums in
/// float32 (float64 for float64). Rows that see nothing are zeros. Gradients reach rows and value.
at::Tensor attention_in_chunks(const HashedRows& rows, const HashChunks& chunks);

/// The same where a row sees the last `window` rows of its bucket that stand before it.
at::Tensor attention_by_rank(const HashedRows& rows, std::int64_t window);

}  // namespace weft::attention
