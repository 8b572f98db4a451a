// SPDX-License-Identifier: Apache-2.0
// Probabilities and score gradients as operands of the next product: float32 panels are used as they are, for products
// of bfloat16 pairs they are rounded and joined, two keys or two queries to a unit. Tiles also want them turned over,
// and zeros up to whole steps.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/factors.h"
#include "weft/kernels/fused/scores/block_mask.h"
#include "weft/kernels/fused/transpose.h"
#include "weft/kernels/isa/units.h"

namespace weft::kernels {

/// numbers[key][kPanel] as a right operand [unit of keys][kPanel] from range.begin on; keys beyond the range count as
/// zero.
template <class Isa, class Units>
[[gnu::always_inline]] inline const typename Units::Unit* pair_keys(const float* numbers, typename Units::Unit* room,
                                                                    const KeyRange& range,
                                                                    std::int64_t vectors) noexcept {
  if constexpr (Units::kPerUnit == 1) {
    return numbers + range.begin * kPanel;
  } else {
    const auto row = [&](std::int64_t key, std::int64_t lane) {
      return key < range.end ? Isa::load(numbers + key * kPanel + lane) : Isa::zero();
    };
    const std::int64_t count = round_up(range.end - range.begin, kStepNumbers<Units>);
    for (std::int64_t key = 0; key < count; key += 2) {
      for (std::int64_t lane = 0; lane < vectors * Isa::kLanes; lane += Isa::kLanes) {
        Units::store_pair(room + key / 2 * kPanel + lane, row(range.begin + key, lane),
                          row(range.begin + key + 1, lane));
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
    const std::int64_t lanes = round_up(vectors * Isa::kLanes, kStepNumbers<Units>);
    for (std::int64_t key = range.begin; key < range.end; ++key) {
      for (std::int64_t lane = 0; lane < lanes; lane += Isa::kLanes) {
        Units::store_row(room + (key * kPanel + lane) / 2,
                         lane < vectors * Isa::kLanes ? Isa::load(numbers + key * kPanel + lane) : Isa::zero());
      }
    }
    return {room + range.begin * kPanel / 2, kPanel / 2, 1};
  }
}

/// What pair_keys() made as a left operand with queries as rows; tiles want it turned over, into the second half of
/// `room`.
template <class Isa, class Units>
[[gnu::always_inline]] inline Operand<typename Units::Unit> turn_pairs(const typename Units::Unit* pairs,
                                                                       [[maybe_unused]] typename Units::Unit* room,
                                                                       [[maybe_unused]] const KeyRange& range,
                                                                       [[maybe_unused]] std::int64_t vectors) noexcept {
  if constexpr (Units::kTiled) {
    constexpr std::int64_t kStride = kTile / Units::kPerUnit;
    typename Units::Unit* turned = room + kStride * kPanel;
    const std::int64_t count = round_up(range.end - range.begin, kStepNumbers<Units>) / Units::kPerUnit;
    for (std::int64_t unit = 0; unit < count; unit += Isa::kLanes) {
      transpose_rows<Isa>(pairs + unit * kPanel, kPanel, vectors * Isa::kLanes, turned + unit, kStride);
    }
    return {turned, kStride, 1};
  } else {
    return {pairs, 1, kPanel};
  }
}

/// numbers[key][kPanel] as a left operand with queries as rows and units of keys as steps; `room` for two panels.
template <class Isa, class Units>
[[gnu::always_inline]] inline Operand<typename Units::Unit> pair_keys_of_queries(const float* numbers,
                                                                                 typename Units::Unit* room,
                                                                                 const KeyRange& range,
                                                                                 std::int64_t vectors) noexcept {
  return turn_pairs<Isa, Units>(pair_keys<Isa, Units>(numbers, room, range, vectors), room, range, vectors);
}

}  // namespace weft::kernels
