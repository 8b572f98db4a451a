// SPDX-License-Identifier: Apache-2.0
// Attention of rows that are sorted by bucket: chunks of neighbours, several rounds, one softmax over all of them. It
// runs on LibTorch's products; a kernel that knows the positions of its rows can take its place.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// The score of a row with itself, in place of a product: far below any other.
inline constexpr double kSelfScore = -1e5;

/// What makes keys of rows x [..., D]: rsqrt(mean(x^2) + 1e-6) / sqrt(D), [..., 1]. Keys have length 1.
at::Tensor key_factor(const at::Tensor& rows);

/// One call of N = n * chunk rows. Each of R rounds has the rows in another order; a row at place p of a round sees
/// places of its own chunk, of `left` chunks before it and of `right` behind it.
struct ChunkedCall {
  at::Tensor rows;   ///< x [B, H, N, D]: the queries; x key_factor(x) are the keys
  at::Tensor value;  ///< [B, H, N, D_v]
  at::Tensor order;  ///< int64 [B, H, R, N]: the position of the row at each place
  at::Tensor own;    ///< int32 like `order`: the number of the row at each place
  at::Tensor code;   ///< int32 like `order`: `own`, or another number where the row is a key that hides
  at::Tensor low;    ///< int32 like `order`: a row sees no code below it; undefined: all
  at::Tensor high;   ///< int32 like `order`: a row sees no code above it; undefined: all
  std::int64_t chunk = 64;
  std::int64_t left = 1;
  std::int64_t right = 0;
  bool circular = true;  ///< the rounds are one circle of R n chunks; else nothing lies before or behind a round
  double dropout = 0.0;  ///< on the probabilities of each round
  std::uint64_t seed = 0;
};

/// Scores are q_i . k_j, and kSelfScore for i = j: a row sees itself only where it sees nothing else. Each round gives
/// an output o_r and a log-sum-exp l_r; the result is sum_r softmax(l)_r o_r [B, H, N, D_v] in the dtype of rows, sums
/// in float32 (float64 for float64). That is one softmax over the pairs of all rounds, which the gradients use. Rows
/// that see nothing are zeros; NaN or infinity in a value reaches the rows that see it. Memory follows N and not R N:
/// pieces are computed again in the backward pass. Gradients reach rows and value; double backward is an error.
at::Tensor chunked_attention(const ChunkedCall& call);

}  // namespace weft::attention
