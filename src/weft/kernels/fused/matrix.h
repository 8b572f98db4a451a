// SPDX-License-Identifier: Apache-2.0
// Up to 64 rows of query, key, value or output gradient as the products read them: in place wherever strides and dtype
// allow, else copied once, with the rows that must not be seen set to zero.
#pragma once

#include <cstdint>
#include <type_traits>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused/product.h"
#include "weft/kernels/fused/tile.h"
#include "weft/kernels/fused/transpose.h"
#include "weft/kernels/isa/units.h"

namespace weft::kernels {

/// Rows of a strided array in their own dtype; `hidden` marks rows whose memory must count as zero.
template <typename Memory>
struct Rows {
  const Memory* data;
  std::int64_t stride;
  std::int64_t count;
  std::int64_t columns;
  std::uint64_t hidden = 0;

  [[gnu::always_inline]] const Memory* row(std::int64_t at) const noexcept { return data + at * stride; }
  [[gnu::always_inline]] bool is_hidden(std::int64_t at) const noexcept {
    return at >= count || ((hidden >> at) & 1) != 0;
  }
};

/// Which sides of a matrix a pass multiplies by.
enum class Sides { kRows, kSteps, kColumns, kRowsAndSteps };

/// The same rows from up to three sides.
template <typename Unit>
struct Matrix {
  Operand<Unit> rows;        ///< a left operand with steps along the columns
  Operand<Unit> columns;     ///< a left operand with steps along the rows: the transpose
  const Unit* steps;         ///< a right operand with a row (for pairs of bfloat16 two rows) a step
  std::int64_t step_stride;  ///< of `steps`

  [[gnu::always_inline]] const Unit* step(std::int64_t at) const noexcept { return steps + at * step_stride; }
};

/// A vector of `count` numbers, zero beyond them.
template <class Isa, typename Memory>
[[gnu::always_inline]] inline typename Isa::Vector widen_part(const Memory* from, std::int64_t count) noexcept {
  if (count >= Isa::kLanes) {
    return Isa::widen(from);
  }
  Memory part[Isa::kLanes] = {};
  __builtin_memcpy(part, from, static_cast<std::size_t>(count) * sizeof(Memory));
  return Isa::widen(part);
}

/// Writes the first `count` numbers of a vector, rounded to the storage.
template <class Isa, typename Memory>
[[gnu::always_inline]] inline void narrow_part(Memory* to, typename Isa::Vector value, std::int64_t count) noexcept {
  if (count >= Isa::kLanes) {
    Isa::narrow(to, value);
    return;
  }
  Memory part[Isa::kLanes];
  Isa::narrow(part, value);
  __builtin_memcpy(to, part, static_cast<std::size_t>(count) * sizeof(Memory));
}

/// A row of float32 sums, rounded to the storage.
template <class Isa, typename Memory>
[[gnu::always_inline]] inline void narrow_row(Memory* to, const float* from, std::int64_t columns) noexcept {
  for (std::int64_t column = 0; column < columns; column += Isa::kLanes) {
    narrow_part<Isa>(to + column, Isa::load(from + column), columns - column);
  }
}

template <class Isa, typename Memory>
class MatrixPacker {
  using Vector = typename Isa::Vector;

 public:
  using Units = typename Isa::template Units<Memory>;
  using Unit = typename Units::Unit;
  static constexpr bool kPairs = Units::kPerUnit == 2;

  /// Units that a product takes for `columns` numbers, and that number padded to whole vectors.
  static std::int64_t units(std::int64_t columns) noexcept {
    return round_up(columns, kStepNumbers<Units>) / Units::kPerUnit;
  }
  static std::int64_t padded(std::int64_t columns) noexcept { return round_up(columns, Isa::kLanes); }
  /// Units that pack() may need for copies.
  static std::int64_t room(std::int64_t columns) noexcept {
    return kPairs ? kTile * padded(units(columns)) + kTile / 2 * padded(columns) : kTile * padded(columns);
  }

  /// The matrix of `rows`, copied into `room` where it cannot be read in place.
  static Matrix<Unit> pack(const Rows<Memory>& rows, Sides sides, Unit* room) noexcept {
    if constexpr (kPairs) {
      return pack_pairs(rows, sides, room);
    } else {
      return pack_floats(rows, sides, room);
    }
  }

  /// Right operands for S^T = K Q^T: to[panel][unit of the columns][kPanel rows].
  static void pack_panels(const Rows<Memory>& rows, Unit* to) noexcept {
    const std::int64_t steps = units(rows.columns);
    const std::int64_t stride = padded(steps);
    Unit staging[Isa::kLanes * kMaximumHeadDim];
    for (std::int64_t first = 0; first < round_up(rows.count, Isa::kLanes); first += Isa::kLanes) {
      for (int lane = 0; lane < Isa::kLanes; ++lane) {
        copy_row(rows, first + lane, staging + lane * stride);
      }
      transpose_rows<Isa>(staging, stride, steps, to + first / kPanel * steps * kPanel + first % kPanel, kPanel);
    }
  }

  /// Bit i is set where row i holds NaN or infinity. Hidden rows are not looked at.
  static std::uint64_t invalid(const Rows<Memory>& rows) noexcept {
    Vector sum = Isa::zero();
    for (std::int64_t row = 0; row < rows.count; ++row) {
      sum = rows.is_hidden(row) ? sum : Isa::add(sum, zero_if_finite(rows, row));
    }
    if (is_zero(sum)) {
      return 0;
    }
    std::uint64_t bits = 0;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const bool is_invalid = !rows.is_hidden(row) && !is_zero(zero_if_finite(rows, row));
      bits |= std::uint64_t{is_invalid ? 1U : 0U} << row;
    }
    return bits;
  }

  /// One row as units, zero up to a whole vector.
  static void copy_row(const Rows<Memory>& rows, std::int64_t row, Unit* to) noexcept {
    const std::int64_t width = padded(units(rows.columns));
    if (rows.is_hidden(row)) {
      __builtin_memset(to, 0, static_cast<std::size_t>(width) * sizeof(Unit));
    } else if constexpr (kPairs) {
      const std::size_t bytes = static_cast<std::size_t>(rows.columns) * sizeof(Memory);
      __builtin_memcpy(to, rows.row(row), bytes);
      __builtin_memset(reinterpret_cast<char*>(to) + bytes, 0, static_cast<std::size_t>(width) * sizeof(Unit) - bytes);
    } else {
      for (std::int64_t column = 0; column < width; column += Isa::kLanes) {
        Isa::store(to + column, widen_part<Isa>(rows.row(row) + column, rows.columns - column));
      }
    }
  }

  /// Of pairs: rows `row` and `row` + 1 as one step of a right operand.
  static void pair_rows(const Rows<Memory>& rows, std::int64_t row, Unit* to) noexcept {
    for (std::int64_t column = 0; column < rows.columns; column += Isa::kLanes) {
      Units::store_pair(to + column, numbers(rows, row, column), numbers(rows, row + 1, column));
    }
  }

 private:
  // Rows of twelve heads side by side are 3 KB apart: 64 of them share a quarter of the sets of a first-level cache and
  // throw each other out. A copy costs less than the products lose: full attention over 4,096 tokens in float32 takes
  // 3.4 ns a pair in place and 2.8 copied (Zen 4, one thread).
  static bool is_near(const Rows<Memory>& rows) noexcept { return rows.stride <= 2 * padded(rows.columns); }

  static Matrix<Unit> pack_floats(const Rows<Memory>& rows, Sides sides, Unit* room) noexcept {
    if constexpr (std::is_same_v<Memory, float>) {
      const bool is_left = sides == Sides::kRows || sides == Sides::kColumns;
      if (rows.hidden == 0 && is_near(rows) && (is_left || rows.columns % Isa::kLanes == 0)) {
        return from_both_sides(rows.data, rows.stride);
      }
    }
    const std::int64_t stride = padded(rows.columns);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      copy_row(rows, row, room + row * stride);
    }
    return from_both_sides(room, stride);
  }

  static Matrix<Unit> from_both_sides(const Unit* rows, std::int64_t stride) noexcept {
    return {{rows, stride, 1}, {rows, 1, stride}, rows, stride};
  }

  static Matrix<Unit> pack_pairs(const Rows<Memory>& rows, Sides sides, Unit* room) noexcept {
    Matrix<Unit> matrix{};
    if (sides == Sides::kRows || sides == Sides::kRowsAndSteps) {
      matrix.rows = pack_rows(rows, room);
    }
    if (sides != Sides::kRows) {
      Unit* steps = room + kTile * padded(units(rows.columns));
      matrix.steps = steps;
      matrix.step_stride = padded(rows.columns);
      for (std::int64_t row = 0; row < round_up(rows.count, kStepNumbers<Units>); row += 2) {
        pair_rows(rows, row, steps + row / 2 * matrix.step_stride);
      }
      matrix.columns = sides == Sides::kColumns ? pack_columns(matrix, rows.count, room) : Operand<Unit>{};
    }
    return matrix;
  }

  static Operand<Unit> pack_rows(const Rows<Memory>& rows, Unit* room) noexcept {
    const bool whole = rows.columns % kStepNumbers<Units> == 0 && rows.count % Units::kRows == 0;
    if (rows.hidden == 0 && whole && is_near(rows) && rows.stride % 2 == 0) {
      return {reinterpret_cast<const Unit*>(rows.data), rows.stride / 2, 1};
    }
    const std::int64_t stride = padded(units(rows.columns));
    for (std::int64_t row = 0; row < rows.count; ++row) {
      copy_row(rows, row, room + row * stride);
    }
    return {room, stride, 1};
  }

  // Tiles read a row of the transpose as neighbours, so it is made; vectors read single units by any stride.
  static Operand<Unit> pack_columns(const Matrix<Unit>& matrix, std::int64_t count, Unit* room) noexcept {
    if constexpr (Units::kTiled) {
      constexpr std::int64_t kStride = kTile / Units::kPerUnit;
      for (std::int64_t unit = 0; unit < units(count); unit += Isa::kLanes) {
        transpose_rows<Isa>(matrix.steps + unit * matrix.step_stride, matrix.step_stride, matrix.step_stride,
                            room + unit, kStride);
      }
      return {room, kStride, 1};
    } else {
      return {matrix.steps, 1, matrix.step_stride};
    }
  }

  static Vector numbers(const Rows<Memory>& rows, std::int64_t row, std::int64_t column) noexcept {
    return rows.is_hidden(row) ? Isa::zero() : widen_part<Isa>(rows.row(row) + column, rows.columns - column);
  }

  // 0 x value is 0 for finite numbers only.
  static Vector zero_if_finite(const Rows<Memory>& rows, std::int64_t row) noexcept {
    Vector sum = Isa::zero();
    for (std::int64_t column = 0; column < rows.columns; column += Isa::kLanes) {
      sum = Isa::multiply_add(widen_part<Isa>(rows.row(row) + column, rows.columns - column), Isa::zero(), sum);
    }
    return sum;
  }

  static bool is_zero(Vector lanes) noexcept {
    float numbers[Isa::kLanes];
    Isa::store(numbers, lanes);
    float sum = 0;
    for (const float number : numbers) {
      sum += number;
    }
    return sum == 0;
  }
};

}  // namespace weft::kernels
