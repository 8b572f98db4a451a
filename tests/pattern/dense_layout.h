// SPDX-License-Identifier: Apache-2.0
// A layout and a pattern as dense tables of multiplicities, to be compared.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "weft/pattern/pattern.h"

namespace weft::test {

/// multiplicity() of every pair, [query_length][key_length], for site.head.
inline std::vector<int> dense_oracle(const pattern::Pattern& pattern, const pattern::Site& site) {
  std::vector<int> cells;
  for (std::int64_t query = 0; query < site.query_length; ++query) {
    for (std::int64_t key = 0; key < site.key_length; ++key) {
      cells.push_back(pattern.multiplicity(site, query, key));
    }
  }
  return cells;
}

/// What one block says about query and key, counted inside the block.
inline int block_cell(const pattern::LayoutView& view, std::int32_t kind, std::int64_t query, std::int64_t key) {
  if (pattern::is_full(kind)) {
    return 1;
  }
  if (pattern::is_partial(kind)) {
    return static_cast<int>((view.mask(kind)[query * view.words() + key / 64] >> (key % 64)) & 1);
  }
  return static_cast<int>(std::lround(std::exp(view.weight(kind)[query * view.tile_key + key])));
}

/// The same table from a layout. Also expects ascending blocks, and no bit beyond the lengths.
inline std::vector<int> dense_layout(const pattern::BlockLayout& layout, std::int64_t batch_row, std::int64_t head) {
  const pattern::LayoutView view = layout.view();
  std::vector<int> cells(static_cast<std::size_t>(view.query_length * view.key_length), 0);
  const std::int64_t first_row = view.group_of(batch_row, head) * view.query_blocks;
  for (std::int64_t row = 0; row < view.query_blocks; ++row) {
    std::int64_t last = -1;
    for (std::int64_t block = view.row_begin[first_row + row]; block < view.row_begin[first_row + row + 1]; ++block) {
      EXPECT_GT(view.key_block[block], last);
      EXPECT_LT(view.key_block[block], view.key_blocks);
      last = view.key_block[block];
      for (std::int64_t i = 0; i < view.tile_query; ++i) {
        for (std::int64_t k = 0; k < view.tile_key; ++k) {
          const std::int64_t query = row * view.tile_query + i;
          const std::int64_t key = last * view.tile_key + k;
          const int value = block_cell(view, view.kind[block], i, k);
          if (query < view.query_length && key < view.key_length) {
            cells[static_cast<std::size_t>(query * view.key_length + key)] = value;
          } else if (!pattern::is_full(view.kind[block])) {
            EXPECT_EQ(value, 0) << "a bit beyond the lengths";
          }
        }
      }
    }
  }
  return cells;
}

}  // namespace weft::test
