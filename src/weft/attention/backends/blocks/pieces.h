// SPDX-License-Identifier: Apache-2.0
// Cuts a call into pieces that fit a small workspace: rows of one batch times heads that share its layout.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/attention/backends/blocks/row_batches.h"
#include "weft/pattern/layout.h"

namespace weft::attention {

/// Heads [begin, end) of the flattened batch * heads axis, all with the same layout group.
struct HeadRun {
  std::int64_t group = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t count() const noexcept { return end - begin; }
};

/// Rows [first, first + count) of `rows` for the heads of `heads`.
struct Piece {
  const pattern::BlockLayout* layout = nullptr;
  const RowBatch* rows = nullptr;
  HeadRun heads;
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool merged = false;  ///< the rows are taken as one taller row

  std::int64_t products() const noexcept { return merged ? 1 : count; }
  std::int64_t query_tokens() const noexcept { return layout->tile.query * (merged ? count : 1); }
  std::int64_t key_tokens() const noexcept { return layout->tile.key * rows->width; }
  std::int64_t query_block(std::int64_t row) const noexcept {
    return rows->query_blocks[static_cast<std::size_t>(first + row)];
  }
  /// Index of the row's first block in the arrays of the layout.
  std::int64_t block_begin(std::int64_t row) const noexcept {
    return layout->row_begin[static_cast<std::size_t>(heads.group * layout->query_blocks() + query_block(row))];
  }
  std::int64_t first_key_block(std::int64_t row) const noexcept {
    return layout->key_block[static_cast<std::size_t>(block_begin(row))];
  }
};

/// What bounds a piece.
struct PieceLimits {
  std::int64_t batch = 1;
  bool split_batches = false;  ///< a piece may not span batch rows
  std::int64_t columns = 128;  ///< D + D_v
  std::int64_t elements = 0;   ///< of the workspace; a single row of a single head may exceed it
};

std::vector<Piece> make_pieces(const pattern::BlockLayout& layout, const RowBatches& batches,
                               const PieceLimits& limits);

}  // namespace weft::attention
