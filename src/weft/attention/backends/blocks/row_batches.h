// SPDX-License-Identifier: Apache-2.0
// How the portable path batches a layout: query blocks whose rows have the same number of key blocks become one batched
// product. Rows whose key blocks are consecutive and move at a constant step are read in place, without a gather.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pattern/layout.h"

namespace weft::attention {

/// Query blocks that one batched product serves.
struct RowBatch {
  std::int64_t width = 0;                  ///< key blocks in each row
  std::vector<std::int32_t> query_blocks;  ///< ascending
  bool shared_kinds = true;                ///< every row has the kinds of the first
  bool has_bias = false;                   ///< a block is partial or weighted, or reaches beyond the keys
  bool query_bias = false;                 ///< the bias differs from query to query: a block is partial or weighted
  bool uniform = false;  ///< consecutive key blocks; rows and their first key blocks at constant steps
  std::int64_t query_step = 1;
  std::int64_t key_step = 0;

  std::int64_t rows() const noexcept { return static_cast<std::int64_t>(query_blocks.size()); }
  /// Whether neighbouring rows see the same keys without any mask of their own: then they are one taller row.
  bool mergeable() const noexcept { return uniform && query_step == 1 && key_step == 0 && !query_bias; }
};

struct RowBatches {
  std::vector<std::vector<RowBatch>> groups;  ///< one list a group of the layout
};

/// Cost is proportional to the blocks of the layout.
RowBatches row_batches_of(const pattern::BlockLayout& layout);

}  // namespace weft::attention
