// SPDX-License-Identifier: Apache-2.0
// The scores of a call that was observed, a tile of queries at a time: products with the keys of the tile's blocks,
// what distances add, and the pattern. What sums probabilities and what draws them read the same scores.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"
#include "weft/attention/profile/score_limits.h"

namespace weft::attention {

/// What Transformer-XL adds to a score: scale * Q2 . R[distance] (docs/kernel.md).
struct RelativeMass {
  at::Tensor query;       ///< Q2 [B, H, Q, D]; undefined: nothing is added
  at::Tensor rows;        ///< R [H, span, D]; beyond either end the row at that end
  std::int64_t zero = 0;  ///< the row of distance 0; it may lie outside of R
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
  RelativeMass relative = {};
  /// Where the queries stand, for rows that were picked out of a text; empty: one after the other from the layout's
  /// offset on. A distance table or relative rows know only those.
  std::vector<std::int64_t> positions = {};
};

/// A call as plain memory on the CPU, in the type of its scores: float32, or float64 of float64.
struct ScoredCall {
  at::Tensor query;           ///< [B, H, Q, D], scaled
  at::Tensor key;             ///< [B, H_kv, K, D]
  at::Tensor key_keep;        ///< bool [B, K] or undefined
  at::Tensor query_keep;      ///< bool [B, Q] or undefined
  at::Tensor table;           ///< [H, 1 or 2, span] or undefined
  at::Tensor relative_query;  ///< [B, H, Q, D], scaled, or undefined
  at::Tensor relative_rows;   ///< [H, span, D]
  std::int64_t zero = 0;      ///< of the table or the relative rows
  LayoutPtr layout;
  std::vector<std::int64_t> positions;  ///< of the queries
};

/// Errors: kArgument where the parts of the call do not fit each other.
ScoredCall scored_call(const MassCall& call);

/// Whether `keep`, bool [B, length] or undefined, keeps a position of a row of the batch.
bool is_kept(const at::Tensor& keep, std::int64_t batch, std::int64_t position);

/// Keys [begin, end).
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

/// A run of adjacent key blocks, side by side in the scores of a tile.
struct KeyRun {
  std::int64_t first;  ///< key
  std::int64_t keys;
  std::int64_t column;  ///< of the scores
};

/// Tiles of one head of `call`, which must outlive this. A thread has its own.
class TileScores {
 public:
  TileScores(const ScoredCall& call, std::int64_t head) : call_(call), head_(head) {}

  /// Scores [queries of the tile, columns] with logarithms of multiplicities; kNoEdge where there is no edge or the key
  /// is padding. NaN stays. Columns are the keys of those blocks of the tile that have keys in `keys`; undefined where
  /// there is none.
  at::Tensor of(std::int64_t batch, std::int64_t query_block, KeyRange keys = {});

  /// Which keys the columns are: of the tile that was computed last.
  const std::vector<KeyRun>& runs() const noexcept { return runs_; }
  std::int64_t columns() const noexcept { return columns_; }

 private:
  std::int64_t first_key(std::int64_t block) const;
  std::int64_t keys_of(std::int64_t block) const;
  void find_runs(std::int64_t batch, std::int64_t query_block, KeyRange keys);
  at::Tensor products(std::int64_t batch, std::int64_t first, std::int64_t count) const;
  template <typename Number>
  void complete(std::int64_t batch, std::int64_t first, at::Tensor& scores) const;
  template <typename Number>
  void add_table(std::int64_t first, std::int64_t count, Number* scores) const;
  template <typename Number>
  void add_relative(std::int64_t batch, std::int64_t first, const KeyRun& run, at::Tensor& scores) const;
  template <typename Number>
  void mask_row(std::int64_t batch, std::int64_t row, Number* scores) const;

  const ScoredCall& call_;
  std::int64_t head_;
  pattern::BlockRange range_{};  // of the tile, cut to the keys that were asked for
  std::vector<KeyRun> runs_;
  std::int64_t columns_ = 0;
};

}  // namespace weft::attention
