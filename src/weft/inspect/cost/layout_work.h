// SPDX-License-Identifier: Apache-2.0
// What the block-sparse kernel does for a layout, counted as it works: panels of queries, and of each block only the
// keys between the first and the last that a panel sees.
#pragma once

#include <cstdint>

#include "weft/inspect/cost/machine_rates.h"
#include "weft/pattern/layout.h"

namespace weft::inspect {

/// Summed over heads, for one batch row (the first). As floating point: sums over layers and batches pass 2^63.
struct LayoutWork {
  double query_blocks = 0;
  double key_blocks = 0;
  double full_keys = 0;    ///< in full blocks, once for each panel of 32 queries
  double masked_keys = 0;  ///< the same in partial and weighted blocks, between the first and the last that is seen
  double partial_blocks = 0;
  double weighted_blocks = 0;
  double forward_refills = 0;   ///< blocks of keys that are packed again: others took their place in the meantime
  double backward_refills = 0;  ///< the same for blocks of queries
  double slots = 0;             ///< scores of the blocks, computed or skipped: LayoutStatistics::slots
  double layout_bytes = 0;

  LayoutWork& operator+=(const LayoutWork& other);
};

/// Cost is proportional to the blocks of the layout. The width of a head says how many packed blocks a thread keeps.
/// Errors: kArgument for tiles other than 64 x 64.
LayoutWork layout_work(const pattern::BlockLayout& layout, std::int64_t head_dim);

/// Blocks of keys that a thread keeps packed for heads of this width: rows of blocks that far apart look at the same
/// ones for nothing. Backwards it keeps half as many blocks of queries.
std::int64_t packed_blocks(std::int64_t head_dim);

/// Seconds for `work` in one direction on a machine with these rates.
double forward_seconds(const LayoutWork& work, const KernelRates& rates);
double backward_seconds(const LayoutWork& work, const KernelRates& rates);
/// The same for dense attention of `heads` heads.
double dense_seconds(double heads, double length, const DenseRates& rates);

}  // namespace weft::inspect
