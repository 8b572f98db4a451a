// SPDX-License-Identifier: Apache-2.0
// What of a block is computed: panels of 32 queries with the keys that they see, or, where a mask runs through a panel
// so that its halves see much less than the whole, halves of them.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/scores/block_mask.h"
#include "weft/kernels/isa/units.h"

namespace weft::kernels {

/// Keys and queries that are worked on at once.
struct Panel {
  KeyRange range;
  std::int64_t query;    ///< first one, counted from the start of the block
  std::int64_t queries;  ///< that exist
  std::int64_t vectors;  ///< that hold them

  /// Where the first query stands in numbers[key][kPanel], and in panels of `rows` rows.
  [[gnu::always_inline]] std::int64_t lane() const noexcept { return query % kPanel; }
  [[gnu::always_inline]] std::int64_t in_panels(std::int64_t rows) const noexcept {
    return query / kPanel * rows * kPanel + lane();
  }
};

template <class Isa>
[[gnu::always_inline]] inline Panel panel_of(const KeyRange& range, std::int64_t query, std::int64_t queries) noexcept {
  return {range, query, queries, round_up(queries, Isa::kLanes) / Isa::kLanes};
}

/// Calls work(panel) for the panels of a block of `queries` queries that have an edge.
template <class Isa, class Units, typename Work>
[[gnu::always_inline]] inline void each_panel(const BlockMask<Isa>& mask, std::int64_t queries,
                                              const Work& work) noexcept {
  constexpr std::int64_t kHalf = kPanel / 2;
  for (std::int64_t first = 0; first < queries; first += kPanel) {
    const std::int64_t count = smaller(kPanel, queries - first);
    const KeyRange whole = mask.range(first, count, kStepNumbers<Units>);
    if (whole.is_masked && count > kHalf && !Units::kTiled) {
      const KeyRange left = mask.range(first, kHalf, kStepNumbers<Units>);
      const KeyRange right = mask.range(first + kHalf, count - kHalf, kStepNumbers<Units>);
      if (4 * (left.count() + right.count()) <= 7 * whole.count()) {
        if (left.count() > 0) {
          work(panel_of<Isa>(left, first, kHalf));
        }
        if (right.count() > 0) {
          work(panel_of<Isa>(right, first + kHalf, count - kHalf));
        }
        continue;
      }
    }
    if (whole.count() > 0) {
      work(panel_of<Isa>(whole, first, count));
    }
  }
}

}  // namespace weft::kernels
