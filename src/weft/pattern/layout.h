// SPDX-License-Identifier: Apache-2.0
// BlockLayout: a compiled pattern. For each group of heads (and batch rows) that share it, compressed rows of key
// blocks, each full, partial with its exact bits, or weighted with the logarithm of its multiplicities. All arrays are
// flat, so that kernels see plain pointers (LayoutView) and the LibTorch operator sees tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/pattern/layout_view.h"

namespace weft::pattern {

/// The size of a block in tokens; the kernel's choice, independent of the pattern's `block`. `key` is a multiple of 64
/// or one of 8, 16, 32; `query` is at least 1.
struct Tile {
  std::int32_t query = 64;
  std::int32_t key = 64;
  friend bool operator==(const Tile&, const Tile&) = default;
};

/// Per (head, batch row): `group[row * heads + head]`, one row when all rows of the batch share the layout.
struct BlockLayout {
  Tile tile;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t query_offset = 0;
  std::int64_t heads = 1;
  std::int64_t batch = 1;   ///< rows of `group`: 1 when shared by the batch
  std::int64_t groups = 0;  ///< number of distinct block structures

  std::vector<std::int32_t> group;      ///< [batch * heads] -> group
  std::vector<std::int64_t> row_begin;  ///< [groups * query_blocks + 1], absolute indices into the block arrays
  std::vector<std::int32_t> key_block;  ///< [blocks], ascending within a row
  std::vector<std::int32_t> kind;       ///< [blocks]: kFullBlock, a mask index >= 0, or -2 - weight index
  std::vector<std::uint64_t>
      mask_bits;                  ///< [masks][tile.query][words]: bit k % 64 of word k / 64 is key k of the block
  std::vector<float> log_weight;  ///< [weights][tile.query][tile.key]: log multiplicity, -infinity for no edge
  std::vector<std::int64_t> group_edges;  ///< [groups]: edges counted with multiplicity 1

  std::int64_t query_blocks() const noexcept { return (query_length + tile.query - 1) / tile.query; }
  std::int64_t key_blocks() const noexcept { return (key_length + tile.key - 1) / tile.key; }
  std::int64_t blocks() const noexcept { return static_cast<std::int64_t>(key_block.size()); }
  /// Edges summed over heads, for one batch row (the first).
  std::int64_t edges() const noexcept;
  /// Edges over heads * query_length * key_length.
  double density() const noexcept;
  /// Score entries that a kernel computes, summed over heads, for one batch row.
  std::int64_t slots() const noexcept;
  std::size_t bytes() const noexcept;
  /// Pointers into this layout; valid while it lives and is not changed.
  LayoutView view() const noexcept;
};

/// What a layout costs, summed over heads, for one batch row (the first).
struct LayoutStatistics {
  std::int64_t edges = 0;
  double density = 0;
  std::int64_t blocks = 0;
  std::int64_t full_blocks = 0;
  std::int64_t partial_blocks = 0;
  std::int64_t weighted_blocks = 0;
  std::int64_t slots = 0;
  double edges_per_slot = 0;  ///< 1 when no computed score is thrown away; 0 without slots
  std::size_t bytes = 0;      ///< of the whole layout
};

LayoutStatistics statistics(const BlockLayout& layout);

/// The edges of each group, counted from its blocks: what `group_edges` holds.
std::vector<std::int64_t> count_group_edges(const BlockLayout& layout);

/// Which keys a row of a block of this kind has an edge to: bit b is key b of the block. The tile has 64 keys; a full
/// block at the end of the keys has the bits of all.
std::uint64_t keys_of_row(const BlockLayout& layout, std::int32_t kind, std::int64_t row);

/// The same blocks by columns, for the backward pass: which query blocks look at a key block, ascending.
struct LayoutTranspose {
  std::vector<std::int64_t> column_begin;  ///< [groups * key_blocks + 1]
  std::vector<std::int32_t> query_block;   ///< [blocks]
  std::vector<std::int64_t> block;         ///< [blocks]: index of the block in the row form
  TransposeView view() const noexcept;
};

LayoutTranspose transpose(const BlockLayout& layout);

}  // namespace weft::pattern
