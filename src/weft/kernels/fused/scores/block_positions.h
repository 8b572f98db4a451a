// SPDX-License-Identifier: Apache-2.0
// Row positions on a block: kernels/row_positions.h for 64 queries at once. Each key gets two 64-bit numbers, of which
// one takes edges away and the other names those whose score is not their own.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/tile.h"
#include "weft/kernels/row_positions.h"

namespace weft::kernels {

template <class Isa>
class BlockPositions {
 public:
  /// `first` is the first of `queries` queries.
  BlockPositions(const AttentionArguments& arguments, const RowIndex& first, std::int64_t queries,
                 std::int64_t first_key) noexcept
      : keys_(key_positions(arguments, first, first_key)), has_own_(arguments.positions.not_self) {
    for (std::int64_t query = 0; query < kTile; ++query) {
      const SeenPositions seen = query < queries
                                     ? seen_positions(arguments, {first.batch, first.head, first.row + query})
                                     : SeenPositions{0, -1, -1};
      first_[query] = seen.first;
      last_[query] = seen.last;
      own_[query] = seen.own;
    }
  }

  /// Bit q: query q sees the key, which counts from the first one.
  std::uint64_t seen_by(std::int64_t key) const noexcept { return between(first_, last_, keys_[key]); }
  /// Bit q: its score is kOwnScore.
  std::uint64_t own(std::int64_t key) const noexcept { return has_own_ ? between(own_, own_, keys_[key]) : 0; }

 private:
  static std::uint64_t between(const std::int32_t* low, const std::int32_t* high, std::int32_t position) noexcept {
    std::uint64_t bits = 0;
    for (int query = 0; query < kTile; query += Isa::kLanes) {
      bits |= Isa::bits_between(low + query, high + query, position) << query;
    }
    return bits;
  }

  const std::int32_t* keys_;
  bool has_own_;
  alignas(64) std::int32_t first_[kTile];
  alignas(64) std::int32_t last_[kTile];
  alignas(64) std::int32_t own_[kTile];
};

}  // namespace weft::kernels
