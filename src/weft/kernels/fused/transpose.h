// SPDX-License-Identifier: Apache-2.0
// Matrices of units turned over, a square of vectors at a time.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

/// to[column][row] = from[row][column] for kLanes rows of `columns` units, read in whole vectors. Units of any kind
/// pass through unchanged.
template <class Isa, typename Unit>
void transpose_rows(const Unit* from, std::int64_t from_stride, std::int64_t columns, Unit* to,
                    std::int64_t to_stride) noexcept {
  for (std::int64_t first = 0; first < columns; first += Isa::kLanes) {
    typename Isa::Vector rows[Isa::kLanes];
#pragma GCC unroll 16
    for (int row = 0; row < Isa::kLanes; ++row) {
      rows[row] = Isa::load(reinterpret_cast<const float*>(from + row * from_stride + first));
    }
    Isa::transpose(rows);
    const std::int64_t left = smaller(Isa::kLanes, columns - first);
    for (std::int64_t column = 0; column < left; ++column) {
      Isa::store(reinterpret_cast<float*>(to + (first + column) * to_stride), rows[column]);
    }
  }
}

}  // namespace weft::kernels
