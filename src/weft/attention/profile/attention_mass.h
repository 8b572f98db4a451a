// SPDX-License-Identifier: Apache-2.0
// Where the attention of one layer goes, summed over the calls of a pass: by tile, key and distance, with the entropy
// of the rows, and by edge for short texts. The sums are float64 and are added in a fixed order, so that they do not
// depend on the number of threads.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"

namespace weft::attention {

/// The largest calls of a pass. Positions count from 0, also where a call has a query offset.
struct MassShape {
  std::int64_t heads = 1;
  std::int64_t queries = 0;  ///< positions of queries
  std::int64_t keys = 0;     ///< positions of keys
  std::int64_t tile = 64;    ///< positions on each side of a tile
  bool edges = false;        ///< every pair too: heads * queries * keys float64
};

/// A call of attention(), without its values. Dropout is not part of it: a profile is that of evaluation.
struct MassCall {
  at::Tensor query;  ///< [B, H, Q, D]
  at::Tensor key;    ///< [B, H_kv, K, D]
  LayoutPtr layout;
  double scale = 1.0;
  at::Tensor key_keep = {};      ///< bool [B, K], false marks a padded key; undefined keeps all
  at::Tensor query_keep = {};    ///< bool [B, Q], false marks a padded query, which does not count; undefined: all do
  DistanceTable distances = {};  ///< as in AttentionOptions
};

/// Sums of probabilities p, float64 on the CPU. `rows` counts the queries that have an edge; the probabilities of each
/// of them sum to 1, so that key, tile and distance sum to `rows` over all their entries but the heads.
class AttentionMass {
 public:
  /// Errors: kArgument for sizes below 1, or sums of more than 2^31 entries.
  explicit AttentionMass(const MassShape& shape);

  /// Adds the probabilities of a call. Memory is linear in the length of the keys: a tile of queries at a time. Errors:
  /// kArgument where the call does not fit its layout or the shape, kNumeric where a score is NaN or infinite; the sums
  /// are not to be used then.
  void add(const MassCall& call);

  const MassShape& shape() const noexcept { return shape_; }

  at::Tensor tile;      ///< [H, query tiles, key tiles]
  at::Tensor key;       ///< [H, keys]
  at::Tensor distance;  ///< [H, queries + keys - 1]: position of the query minus that of the key, from -(keys - 1)
  at::Tensor entropy;   ///< [H], of the rows, in nats
  at::Tensor rows;      ///< [H, queries], int64
  at::Tensor edge;      ///< [H, queries, keys], or undefined

 private:
  MassShape shape_;
};

}  // namespace weft::attention
