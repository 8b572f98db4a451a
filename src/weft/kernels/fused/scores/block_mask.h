// SPDX-License-Identifier: Apache-2.0
// The edges of one block as the fused kernel asks for them: for each key, which of 64 queries see it; for each panel of
// queries, between which keys its edges lie and whether all of them are edges.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused/scores/block_positions.h"
#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

/// Keys of a block, and whether some of the queries in question do not see some of them.
struct KeyRange {
  std::int64_t begin;
  std::int64_t end;
  bool is_masked;

  [[gnu::always_inline]] std::int64_t count() const noexcept { return end - begin; }
};

/// rows[i] bit j <-> rows[j] bit i, by halves, quarters, ... (Warren, "Hacker's Delight", section 7-3).
template <class Isa>
void transpose_bits(std::uint64_t (&rows)[kTile]) noexcept {
  std::uint64_t keep = 0x00000000FFFFFFFF;
  for (int half = 32; half > 0; half /= 2, keep ^= keep << half) {
    for (int row = 0; row < kTile; row = ((row | half) + 1) & ~half) {
      const std::uint64_t moved = ((rows[row] >> half) ^ rows[row | half]) & keep;
      rows[row] ^= moved << half;
      rows[row | half] ^= moved;
    }
  }
}

/// Where a block lies and which of its keys count.
struct BlockPlace {
  std::int64_t block;    ///< index into the arrays of the layout
  std::int64_t queries;  ///< rows of the query block that exist
  std::int64_t keys;     ///< keys of the block that exist
  std::uint64_t padded;  ///< bit k: key k is padding
};

template <class Isa>
class BlockMask {
 public:
  /// `weights` has room for 64 x 64 numbers.
  BlockMask(const pattern::LayoutView& layout, const BlockPlace& place, float* weights) noexcept
      : queries_(low_bits(place.queries)), keys_(place.keys) {
    const std::int32_t kind = layout.kind[place.block];
    is_full_ = pattern::is_full(kind) && place.padded == 0;
    if (is_full_) {
      return;
    }
    if (pattern::is_partial(kind)) {
      read_bits(layout.mask(kind), layout.tile_query);
    } else if (pattern::is_weighted(kind)) {
      read_weights(layout.weight(kind), layout.tile_query, weights);
    } else {
      for (std::uint64_t& seen : seen_by_) {
        seen = queries_;
      }
    }
    for (std::int64_t key = 0; key < keys_; ++key) {
      seen_by_[key] = ((place.padded >> key) & 1) != 0 ? 0 : seen_by_[key] & queries_;
    }
  }

  /// Takes away the edges that positions hide.
  void restrict_to(const BlockPositions<Isa>& positions) noexcept {
    bool sees_all = true;
    for (std::int64_t key = 0; key < keys_; ++key) {
      const std::uint64_t before = seen_by(key);
      seen_by_[key] = before & positions.seen_by(key);
      own_[key] = seen_by_[key] & positions.own(key);
      sees_all = sees_all && seen_by_[key] == before;
      has_own_ = has_own_ || own_[key] != 0;
    }
    is_full_ = is_full_ && sees_all;
  }

  /// Bit q: query q sees the key.
  std::uint64_t seen_by(std::int64_t key) const noexcept { return is_full_ ? queries_ : seen_by_[key]; }

  /// Bit q: query q sees some key.
  std::uint64_t sees() const noexcept {
    std::uint64_t some = is_full_ && keys_ > 0 ? queries_ : 0;
    for (std::int64_t key = 0; key < keys_ && !is_full_; ++key) {
      some |= seen_by_[key];
    }
    return some;
  }

  /// Whether positions gave some edges the score kOwnScore; bit q: that of query q and the key.
  bool has_own() const noexcept { return has_own_; }
  std::uint64_t own(std::int64_t key) const noexcept { return own_[key]; }

  /// Log multiplicities [key][64 queries], or null where all are 0.
  const float* weights() const noexcept { return weights_; }

  /// Where the edges of `queries` queries from `first` on lie, from a multiple of `step` on; empty without edges.
  KeyRange range(std::int64_t first, std::int64_t queries, std::int64_t step) const noexcept {
    if (is_full_) {
      return {0, keys_, false};
    }
    const std::uint64_t mine = (low_bits(queries) << first) & queries_;
    std::uint64_t some = 0;  // bit k: a query sees key k
    std::uint64_t all = 0;   // every query does
    for (std::int64_t key = 0; key < keys_; ++key) {
      const std::uint64_t seen = seen_by_[key] & mine;
      some |= std::uint64_t{seen != 0 ? 1U : 0U} << key;
      all |= std::uint64_t{seen == mine ? 1U : 0U} << key;
    }
    if (some == 0) {
      return {0, 0, false};
    }
    const std::int64_t begin = __builtin_ctzll(some) / step * step;
    const std::int64_t end = kTile - __builtin_clzll(some);
    const std::uint64_t inside = low_bits(end) & ~low_bits(begin);
    return {begin, end, weights_ != nullptr || (inside & ~all) != 0};
  }

 private:
  void read_bits(const std::uint64_t* words, std::int64_t queries) noexcept {
    for (std::int64_t query = 0; query < kTile; ++query) {
      seen_by_[query] = query < queries ? words[query] : 0;
    }
    transpose_bits<Isa>(seen_by_);
  }

  void read_weights(const float* rows, std::int64_t queries, float* weights) noexcept {
    weights_ = weights;
    for (std::int64_t key = 0; key < kTile; ++key) {
      seen_by_[key] = 0;
      for (std::int64_t query = 0; query < queries; ++query) {
        const float weight = rows[query * kTile + key];
        weights[key * kTile + query] = weight;
        seen_by_[key] |= std::uint64_t{weight > kLowest ? 1U : 0U} << query;
      }
    }
  }

  static constexpr float kLowest = -3.0e38F;  // -infinity stands for no edge

  std::uint64_t queries_;
  std::int64_t keys_;
  bool is_full_;
  bool has_own_ = false;
  const float* weights_ = nullptr;
  std::uint64_t seen_by_[kTile];
  std::uint64_t own_[kTile];  // where has_own_
};

}  // namespace weft::kernels
