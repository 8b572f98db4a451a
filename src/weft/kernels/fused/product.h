// SPDX-License-Identifier: Apache-2.0
// The one matrix product of the fused kernel: result[rows][columns] (+)= left[rows][steps] right[steps][columns]. The
// left operand is read a unit at a time by any two strides, so that keys, values and transposed scores are used where
// they lie; the right operand and the result are rows of whole vectors. Instruction sets with tiles have their own
// (tile_product.h).
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused/factors.h"
#include "weft/kernels/fused/tile_product.h"

namespace weft::kernels {

/// kRows x kVectors sums in registers over all steps. Without the pragmas GCC 12 keeps the sums in memory: a third of
/// the speed.
template <class Isa, class Units, int kRows, int kVectors, class Finish>
[[gnu::always_inline]] inline void product_tile(const FactorList<typename Units::Unit>& list, std::int64_t first_row,
                                                const Result& result, std::int64_t column,
                                                const Finish& finish) noexcept {
  typename Isa::Vector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int vector = 0; vector < kVectors; ++vector) {
      sums[row][vector] = Isa::zero();
    }
  }
  for (std::int64_t at = 0; at < list.count; ++at) {
    const Factors<typename Units::Unit>& factors = list.first[at];
    const typename Units::Unit* left = factors.left.data + first_row * factors.left.row_stride;
    const typename Units::Unit* right = factors.right + column;
    for (std::int64_t step = 0; step < factors.steps; ++step) {
      typename Units::Packed columns[kVectors];
#pragma GCC unroll 2
      for (int vector = 0; vector < kVectors; ++vector) {
        columns[vector] = Units::load(right + vector * Isa::kLanes);
      }
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        const typename Units::Packed spread = Units::spread(left + row * factors.left.row_stride);
#pragma GCC unroll 2
        for (int vector = 0; vector < kVectors; ++vector) {
          sums[row][vector] = Units::multiply_add(spread, columns[vector], sums[row][vector]);
        }
      }
      left += factors.left.step_stride;
      right += factors.right_stride;
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int vector = 0; vector < kVectors; ++vector) {
      const std::int64_t lane = column + vector * Isa::kLanes;
      finish(result.data + (first_row + row) * result.row_stride + lane, lane, sums[row][vector]);
    }
  }
}

/// All rows from `row` on of `kVectors` vectors from `column` on: blocks of kRows, then the rest by halves.
template <class Isa, class Units, int kRows, int kVectors, class Finish>
[[gnu::always_inline]] inline void product_columns(const FactorList<typename Units::Unit>& list, std::int64_t row,
                                                   const Result& result, std::int64_t column,
                                                   const Finish& finish) noexcept {
  for (; row + kRows <= result.rows; row += kRows) {
    product_tile<Isa, Units, kRows, kVectors>(list, row, result, column, finish);
  }
  if constexpr (kRows > 1) {
    if (row < result.rows) {
      product_columns<Isa, Units, kRows / 2, kVectors>(list, row, result, column, finish);
    }
  }
}

template <class Isa, class Units, class Finish>
void summed_products(const FactorList<typename Units::Unit>& list, const Result& result,
                     const Finish& finish) noexcept {
  if constexpr (Units::kTiled) {
    tile_product<Isa, Units>(list, result, finish);
  } else {
    std::int64_t vector = 0;
    for (; vector + 2 <= result.vectors; vector += 2) {
      product_columns<Isa, Units, Isa::kProductRows, 2>(list, 0, result, vector * Isa::kLanes, finish);
    }
    if (vector < result.vectors) {
      product_columns<Isa, Units, Isa::kProductRows, 1>(list, 0, result, vector * Isa::kLanes, finish);
    }
  }
}

template <class Isa, class Units, class Finish>
[[gnu::always_inline]] inline void product(const Factors<typename Units::Unit>& factors, const Result& result,
                                           const Finish& finish) noexcept {
  summed_products<Isa, Units>({&factors, 1}, result, finish);
}

/// result = scale * left right, in sums of at most 128 steps: one of 256 would be off by 1.4 times as much.
template <class Isa, class Units>
void scaled_product(Factors<typename Units::Unit> factors, const Result& result, float scale) noexcept {
  constexpr std::int64_t kMostSteps = kMaximumHeadDim / 2;
  const std::int64_t steps = factors.steps;
  if constexpr (Units::kTiled) {  // then tiles are stored without a stage
    if (scale == 1.0F && steps <= kMostSteps) {
      return product<Isa, Units>(factors, result, Stored<Isa>{});
    }
  }
  factors.steps = smaller(steps, kMostSteps);
  product<Isa, Units>(factors, result, Scaled<Isa>{Isa::set(scale)});
  if (steps > kMostSteps) {
    factors = {factors.left.from_step(kMostSteps), factors.right + kMostSteps * factors.right_stride,
               factors.right_stride, steps - kMostSteps};
    product<Isa, Units>(factors, result, ScaledAdded<Isa>{Isa::set(scale)});
  }
}

}  // namespace weft::kernels
