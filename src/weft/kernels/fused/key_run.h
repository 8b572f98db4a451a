// SPDX-License-Identifier: Apache-2.0
// Blocks that are worked on together, so that sums stay in registers or tiles from the first to the last of them: key
// blocks of a row on the way there, with one maximum and one rescaling, and panels of queries of a key block on the way
// back.
#pragma once

#include <cstdint>
#include <type_traits>

#include "weft/kernels/fused/factors.h"
#include "weft/kernels/fused/key_blocks.h"
#include "weft/kernels/fused/scores/block_mask.h"
#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

/// The most blocks of a run: their scores for a panel are 32 KB.
inline constexpr std::int64_t kMostBlocks = 4;

/// Blocks in the order of the layout. More than one only where every query sees every key.
template <typename Unit>
struct KeyRun {
  std::int64_t count = 0;
  const KeyBlock<Unit>* keys[kMostBlocks];
  std::int64_t key_block[kMostBlocks];

  [[gnu::always_inline]] void add(const KeyBlock<Unit>& block, std::int64_t number) noexcept {
    keys[count] = &block;
    key_block[count] = number;
    ++count;
  }
};

/// The most panels of a run: those of two blocks of queries where numbers are pairs. Panels of float32 are twice as
/// large, and two of them push each other out of the first-level cache: runs bring nothing there.
template <typename Unit>
inline constexpr std::int64_t kMostPanels = std::is_same_v<Unit, float> ? 1 : 4;

/// Panels that see the same keys of a block; `values` are P^T and dO, `keys` are dS^T and Q.
template <typename Unit>
struct PanelRun {
  std::int64_t count = 0;
  KeyRange range;
  std::int64_t query_block[kMostPanels<Unit>];  ///< as QueryBlocks counts them
  Factors<Unit> values[kMostPanels<Unit>];
  Factors<Unit> keys[kMostPanels<Unit>];

  [[gnu::always_inline]] bool takes(const KeyRange& other) const noexcept {
    return count == 0 || (count < kMostPanels<Unit> && range.begin == other.begin && range.end == other.end);
  }
};

}  // namespace weft::kernels
