// SPDX-License-Identifier: Apache-2.0
// Key blocks that are worked on together: one maximum and one rescaling for all of their keys, and sums of values that
// stay in registers or tiles from the first to the last of them.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/key_blocks.h"
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

}  // namespace weft::kernels
