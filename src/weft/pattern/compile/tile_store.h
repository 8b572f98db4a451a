// SPDX-License-Identifier: Apache-2.0
// The contents of partial and weighted blocks, each stored once however many blocks share them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/pattern/layout.h"

namespace weft::pattern {

/// Fills the mask and weight arrays of a layout under construction.
class TileStore {
 public:
  explicit TileStore(BlockLayout& layout);

  /// The kind of a partial block with these bits, [tile.query][words].
  std::int32_t mask(std::span<const std::uint64_t> bits);
  /// The kind of a weighted block with these multiplicities, [tile.query][tile.key].
  std::int32_t weights(std::span<const int> counts);
  /// Edges of a partial or weighted block.
  std::int64_t edges(std::int32_t kind) const;

 private:
  BlockLayout& layout_;
  std::unordered_multimap<std::uint64_t, std::int32_t> masks_;    // hash -> index
  std::unordered_multimap<std::uint64_t, std::int32_t> weights_;  // hash -> index
  std::vector<int> counts_;                                       // [weights][tile.query][tile.key]
  std::vector<std::int32_t> mask_edges_;
  std::vector<std::int32_t> weight_edges_;
};

}  // namespace weft::pattern
