// SPDX-License-Identifier: Apache-2.0
// Probabilities and score gradients as operands of the next product: float32 panels are used as they are, for products
// of bfloat16 pairs they are rounded and joined, two keys or two queries to a unit.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/block_mask.h"
#include "weft/kernels/fused/product.h"

namespace weft::kernels {

/// numbers[key][kPanel] as [unit of keys][kPanel] from range.begin on; a missing last key counts as zero.
template <class Isa, class Units>
[[gnu::always_inline]] inline const typename Units::Unit* pair_keys(const float* numbers, typename Units::Unit* room,
                                                                    const KeyRange& range,
                                                                    std::int64_t vectors) noexcept {
  if constexpr (Units::kPerUnit == 1) {
    return numbers + range.begin * kPanel;
  } else {
    for (std::int64_t key = range.begin; key < range.end; key += 2) {
      typename Units::Unit* to = room + (key - range.begin) / 2 * kPanel;
      for (std::int64_t vector = 0; vector < vectors; ++vector) {
        const float* from = numbers + key * kPanel + vector * Isa::kLanes;
        Units::store_pair(to + vector * Isa::kLanes, Isa::load(from),
                          key + 1 < range.end ? Isa::load(from + kPanel) : Isa::zero());
      }
    }
    return room;
  }
}

/// numbers[key][kPanel] as a left operand with keys as rows and units of queries as steps.
template <class Isa, class Units>
[[gnu::always_inline]] inline Operand<typename Units::Unit> pair_queries(const float* numbers,
                                                                         typename Units::Unit* room,
                                                                         const KeyRange& range,
                                                                         std::int64_t vectors) noexcept {
  if constexpr (Units::kPerUnit == 1) {
    return {numbers + range.begin * kPanel, kPanel, 1};
  } else {
    for (std::int64_t key = range.begin; key < range.end; ++key) {
      for (std::int64_t vector = 0; vector < vectors; ++vector) {
        Units::store_row(room + (key * kPanel + vector * Isa::kLanes) / 2,
                         Isa::load(numbers + key * kPanel + vector * Isa::kLanes));
      }
    }
    return {room + range.begin * kPanel / 2, kPanel / 2, 1};
  }
}

}  // namespace weft::kernels
