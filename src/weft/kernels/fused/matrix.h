// SPDX-License-Identifier: Apache-2.0
// Up to 64 rows of query, key, value or output gradient as the products read them: in place wherever strides and dtype
// allow, else copied once, with the rows that must not be seen set to zero.
#pragma once

#include <cstdint>
#include <type_traits>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused/product.h"
#include "weft/kernels/fused/tile.h"

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
enum class Sides { kRows, kSteps, kBoth };

/// The same rows from both sides: `rows` is a left operand with steps along the columns; `steps` has a row (for pairs
/// of bfloat16 two rows) a step, and is a right operand, or a left one with row_stride 1.
template <typename Unit>
struct Matrix {
  Operand<Unit> rows;
  const Unit* steps;
  std::int64_t step_stride;

  [[gnu::always_inline]] Operand<Unit> transposed() const noexcept { return {steps, 1, step_stride}; }
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

  /// Units in a row, and in a row padded to whole vectors.
  static std::int64_t units(std::int64_t columns) noexcept {
    return round_up(columns, Units::kPerUnit) / Units::kPerUnit;
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
      transpose(staging, stride, steps, to + first / kPanel * steps * kPanel + first % kPanel);
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

 private:
  static Matrix<Unit> pack_floats(const Rows<Memory>& rows, Sides sides, Unit* room) noexcept {
    if constexpr (std::is_same_v<Memory, float>) {
      const bool whole_vectors = sides == Sides::kRows || rows.columns % Isa::kLanes == 0;
      if (rows.hidden == 0 && whole_vectors) {
        return {{rows.data, rows.stride, 1}, rows.data, rows.stride};
      }
    }
    const std::int64_t stride = padded(rows.columns);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      copy_row(rows, row, room + row * stride);
    }
    return {{room, stride, 1}, room, stride};
  }

  static Matrix<Unit> pack_pairs(const Rows<Memory>& rows, Sides sides, Unit* room) noexcept {
    Matrix<Unit> matrix{};
    const std::int64_t stride = padded(units(rows.columns));
    if (sides != Sides::kSteps) {
      matrix.rows = {room, stride, 1};
      if (rows.hidden == 0 && rows.columns % 2 == 0 && rows.stride % 2 == 0) {
        matrix.rows = {reinterpret_cast<const Unit*>(rows.data), rows.stride / 2, 1};
      } else {
        for (std::int64_t row = 0; row < rows.count; ++row) {
          copy_row(rows, row, room + row * stride);
        }
      }
    }
    if (sides != Sides::kRows) {
      matrix.steps = room + kTile * stride;
      matrix.step_stride = padded(rows.columns);
      for (std::int64_t row = 0; row < rows.count; row += 2) {
        pair_rows(rows, row, room + kTile * stride + row / 2 * matrix.step_stride);
      }
    }
    return matrix;
  }

  // One row as units, zero up to a whole vector.
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

  static void pair_rows(const Rows<Memory>& rows, std::int64_t row, Unit* to) noexcept {
    for (std::int64_t column = 0; column < rows.columns; column += Isa::kLanes) {
      Units::store_pair(to + column, numbers(rows, row, column), numbers(rows, row + 1, column));
    }
  }

  static Vector numbers(const Rows<Memory>& rows, std::int64_t row, std::int64_t column) noexcept {
    return rows.is_hidden(row) ? Isa::zero() : widen_part<Isa>(rows.row(row) + column, rows.columns - column);
  }

  // from[kLanes][stride] to to[steps][kPanel], whole vectors of rows. Units of any kind pass through unchanged.
  static void transpose(const Unit* from, std::int64_t stride, std::int64_t steps, Unit* to) noexcept {
    for (std::int64_t first = 0; first < steps; first += Isa::kLanes) {
      Vector rows[Isa::kLanes];
#pragma GCC unroll 16
      for (int lane = 0; lane < Isa::kLanes; ++lane) {
        rows[lane] = Isa::load(reinterpret_cast<const float*>(from + lane * stride + first));
      }
      Isa::transpose(rows);
      const std::int64_t left = smaller(Isa::kLanes, steps - first);
      for (std::int64_t step = 0; step < left; ++step) {
        Isa::store(reinterpret_cast<float*>(to + (first + step) * kPanel), rows[step]);
      }
    }
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
