// SPDX-License-Identifier: Apache-2.0
// The product with tiles: blocks of up to 2 x 2 tiles of sums, 16 x 16 each. Its left operand has steps side by side
// (step_stride 1) and is readable up to 16 rows, and steps come in sixteens; zeros stand where nothing is.
#pragma once

#include <cstdint>
#include <type_traits>

#include "weft/kernels/fused/factors.h"
#include "weft/kernels/fused/tile.h"
#include "weft/kernels/isa/tiles.h"

namespace weft::kernels {

/// kRows x kColumns tiles of sums. Registers: sums 0 to 3, left operand 4 and 5, right operand 6 and 7.
template <class Isa, class Units, int kRows, int kColumns>
class TileSums {
  using Tiles = typename Units::Tiles;
  using Unit = typename Units::Unit;
  static constexpr std::int64_t kUnitBytes = sizeof(Unit);

 public:
  [[gnu::always_inline]] static void zero() noexcept {
    each_sum([]<int kRow, int kColumn>() { Tiles::template zero<kSum<kRow, kColumn>>(); });
  }

  /// From and to `result`, which has all the rows.
  [[gnu::always_inline]] static void load(const float* result, std::int64_t stride) noexcept {
    each_sum([&]<int kRow, int kColumn>() {
      Tiles::template load<kSum<kRow, kColumn>>(result + (kRow * stride + kColumn) * kTileRows, stride * kUnitBytes);
    });
  }
  [[gnu::always_inline]] static void store(float* result, std::int64_t stride) noexcept {
    each_sum([&]<int kRow, int kColumn>() {
      Tiles::template store<kSum<kRow, kColumn>>(result + (kRow * stride + kColumn) * kTileRows, stride * kUnitBytes);
    });
  }

  /// Adds the products of all steps, for the rows and columns from those on.
  [[gnu::always_inline]] static void add(const FactorList<Unit>& list, std::int64_t row, std::int64_t column) noexcept {
    for (std::int64_t at = 0; at < list.count; ++at) {
      add(list.first[at], list.first[at].left.from_row(row).data, list.first[at].right + column);
    }
  }

 private:
  [[gnu::always_inline]] static void add(const Factors<Unit>& factors, const Unit* rows, const Unit* right) noexcept {
    const std::int64_t left_stride = factors.left.row_stride;
    for (std::int64_t step = 0; step < factors.steps; step += kTileRows) {
      const Unit* left = rows + step;
      Tiles::template load<4>(left, left_stride * kUnitBytes);
      if constexpr (kRows == 2) {
        Tiles::template load<5>(left + kTileRows * left_stride, left_stride * kUnitBytes);
      }
      const Unit* columns = right + step * factors.right_stride;
      Tiles::template load<6>(columns, factors.right_stride * kUnitBytes);
      if constexpr (kColumns == 2) {
        Tiles::template load<7>(columns + kTileRows, factors.right_stride * kUnitBytes);
      }
      each_sum(
          []<int kRow, int kColumn>() { Tiles::template multiply_add<kSum<kRow, kColumn>, 4 + kRow, 6 + kColumn>(); });
    }
  }

  template <int kRow, int kColumn>
  static constexpr int kSum = kRow * 2 + kColumn;

  template <typename Work>
  [[gnu::always_inline]] static void each_sum(const Work& work) noexcept {
    work.template operator()<0, 0>();
    if constexpr (kColumns == 2) {
      work.template operator()<0, 1>();
    }
    if constexpr (kRows == 2) {
      work.template operator()<1, 0>();
    }
    if constexpr (kRows == 2 && kColumns == 2) {
      work.template operator()<1, 1>();
    }
  }
};

/// One block of sums: stored or added in place where that is all that becomes of them and all rows exist, else by way
/// of a stage.
template <class Isa, class Units, int kRows, int kColumns, class Finish>
[[gnu::always_inline]] inline void tile_block(const FactorList<typename Units::Unit>& list, std::int64_t first_row,
                                              const Result& result, std::int64_t column,
                                              const Finish& finish) noexcept {
  using Sums = TileSums<Isa, Units, kRows, kColumns>;
  float* to = result.data + first_row * result.row_stride + column;
  constexpr bool kStored = std::is_same_v<Finish, Stored<Isa>>;
  if ((kStored || std::is_same_v<Finish, Added<Isa>>) && result.rows - first_row >= kRows * kTileRows) {
    kStored ? Sums::zero() : Sums::load(to, result.row_stride);
    Sums::add(list, first_row, column);
    return Sums::store(to, result.row_stride);
  }
  alignas(64) float stage[kRows * kTileRows][kColumns * kTileRows];
  Sums::zero();
  Sums::add(list, first_row, column);
  Sums::store(stage[0], kColumns * kTileRows);
  for (std::int64_t row = 0; row < smaller(result.rows - first_row, kRows * kTileRows); ++row) {
    for (std::int64_t lane = 0; lane < kColumns * kTileRows; lane += Isa::kLanes) {
      finish(to + row * result.row_stride + lane, column + lane, Isa::load(stage[row] + lane));
    }
  }
}

/// All rows of kColumns tiles from `column` on.
template <class Isa, class Units, int kColumns, class Finish>
[[gnu::always_inline]] inline void tile_columns(const FactorList<typename Units::Unit>& list, const Result& result,
                                                std::int64_t column, const Finish& finish) noexcept {
  std::int64_t row = 0;
  for (; row + kTileRows < result.rows; row += 2 * kTileRows) {
    tile_block<Isa, Units, 2, kColumns>(list, row, result, column, finish);
  }
  if (row < result.rows) {
    tile_block<Isa, Units, 1, kColumns>(list, row, result, column, finish);
  }
}

template <class Isa, class Units, class Finish>
void tile_product(const FactorList<typename Units::Unit>& list, const Result& result, const Finish& finish) noexcept {
  static_assert(Isa::kLanes == kTileRows, "a vector is a row of a tile");
  std::int64_t vector = 0;
  for (; vector + 2 <= result.vectors; vector += 2) {
    tile_columns<Isa, Units, 2>(list, result, vector * Isa::kLanes, finish);
  }
  if (vector < result.vectors) {
    tile_columns<Isa, Units, 1>(list, result, vector * Isa::kLanes, finish);
  }
}

}  // namespace weft::kernels
