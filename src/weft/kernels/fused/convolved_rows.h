// SPDX-License-Identifier: Apache-2.0
// A convolution over rows in the vectors of one instruction set: a block of output rows stays in registers while the
// rows that it sees go by, each of which is loaded once a block.
#pragma once

#include <cstdint>

#include "weft/kernels/row_convolution.h"

namespace weft::kernels {

template <class Isa>
class ConvolvedRows {
 public:
  explicit ConvolvedRows(const RowConvolution& call) noexcept : call_(call) {}

  void run(const ParallelFor& parallel) const noexcept {
    const std::int64_t stretches = (call_.rows + kStretch - 1) / kStretch;
    parallel_for(parallel, call_.batch * call_.heads * stretches, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        stretch(item / stretches, item % stretches * kStretch);
      }
    });
  }

 private:
  using Vector = typename Isa::Vector;
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kRows = Isa::kProductRows;
  static constexpr std::int64_t kStretch = 256;  // rows of an item of work

  /// One head of one text; the rows begin at row 0.
  struct Head {
    const float* values;
    const float* weights;
    const float* added;  // or null
    float* output;
  };

  template <typename Pointer>
  static Pointer at(const Array4<Pointer>& array, std::int64_t batch, std::int64_t head) noexcept {
    return array.data == nullptr ? nullptr : array.data + batch * array.batch_stride + head * array.head_stride;
  }

  /// Rows of values that an output row sees: from first_seen() to before end_seen().
  std::int64_t first_seen(std::int64_t row) const noexcept { return row > call_.taps / 2 ? row - call_.taps / 2 : 0; }
  std::int64_t end_seen(std::int64_t row) const noexcept {
    const std::int64_t end = row + call_.taps / 2 + 1;
    return end < call_.rows ? end : call_.rows;
  }

  void stretch(std::int64_t plane, std::int64_t first) const noexcept {
    const std::int64_t batch = plane / call_.heads;
    const std::int64_t head = plane % call_.heads;
    const Head here{at(call_.values, batch, head), call_.weights + head * call_.taps, at(call_.added, batch, head),
                    at(call_.output, batch, head)};
    const std::int64_t end = first + kStretch < call_.rows ? first + kStretch : call_.rows;
    std::int64_t column = 0;
    for (; column + 2 * kLanes <= call_.columns; column += 2 * kLanes) {
      strip<2>(here, column, first, end);
    }
    for (; column + kLanes <= call_.columns; column += kLanes) {
      strip<1>(here, column, first, end);
    }
    for (; column < call_.columns; ++column) {
      single(here, column, first, end);
    }
  }

  template <int kVectors>
  void strip(const Head& here, std::int64_t column, std::int64_t first, std::int64_t end) const noexcept {
    for (std::int64_t row = first; row < end; row += kRows) {
      block<kVectors>(here, column, row, end - row < kRows ? static_cast<int>(end - row) : kRows);
    }
  }

  /// `count` of the kRows rows from `first` on are kept; the others are computed from the same loads.
  template <int kVectors>
  void block(const Head& here, std::int64_t column, std::int64_t first, int count) const noexcept {
    Vector sums[kRows][kVectors];
    for (int row = 0; row < kRows; ++row) {
      for (int vector = 0; vector < kVectors; ++vector) {
        const bool is_added = here.added != nullptr && row < count;
        sums[row][vector] =
            is_added ? Isa::load(here.added + (first + row) * call_.added.row_stride + column + vector * kLanes)
                     : Isa::zero();
      }
    }
    const std::int64_t half = call_.taps / 2;
    const std::int64_t end = end_seen(first + kRows - 1);
    for (std::int64_t seen = first_seen(first); seen < end; ++seen) {
      const float* from = here.values + seen * call_.values.row_stride + column;
      const std::int64_t tap = seen - first + half;  // of the block's first row; one less for each row behind it
      if (tap >= kRows - 1 && tap < call_.taps) {
        see<kVectors>(from, here.weights + tap, sums);
      } else {
        see_at_the_ends<kVectors>(from, here.weights, tap, sums);
      }
    }
    for (int row = 0; row < count; ++row) {
      for (int vector = 0; vector < kVectors; ++vector) {
        Isa::store(here.output + (first + row) * call_.output.row_stride + column + vector * kLanes, sums[row][vector]);
      }
    }
  }

  template <int kVectors>
  [[gnu::always_inline]] static void see(const float* from, const float* weight,
                                         Vector (&sums)[kRows][kVectors]) noexcept {
    Vector values[kVectors];
    for (int vector = 0; vector < kVectors; ++vector) {
      values[vector] = Isa::load(from + vector * kLanes);
    }
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const Vector spread = Isa::set(*(weight - row));
#pragma GCC unroll 2
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[row][vector] = Isa::multiply_add(spread, values[vector], sums[row][vector]);
      }
    }
  }

  /// For rows of values that some rows of the block do not see.
  template <int kVectors>
  [[gnu::always_inline]] void see_at_the_ends(const float* from, const float* weights, std::int64_t tap,
                                              Vector (&sums)[kRows][kVectors]) const noexcept {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      if (tap - row < 0 || tap - row >= call_.taps) {
        continue;
      }
      const Vector spread = Isa::set(weights[tap - row]);
#pragma GCC unroll 2
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[row][vector] = Isa::multiply_add(spread, Isa::load(from + vector * kLanes), sums[row][vector]);
      }
    }
  }

  /// A column that fills no vector.
  void single(const Head& here, std::int64_t column, std::int64_t first, std::int64_t end) const noexcept {
    const std::int64_t half = call_.taps / 2;
    for (std::int64_t row = first; row < end; ++row) {
      float sum = here.added != nullptr ? here.added[row * call_.added.row_stride + column] : 0.0F;
      const std::int64_t end_of_row = end_seen(row);
      for (std::int64_t seen = first_seen(row); seen < end_of_row; ++seen) {
        sum += here.weights[seen - row + half] * here.values[seen * call_.values.row_stride + column];
      }
      here.output[row * call_.output.row_stride + column] = sum;
    }
  }

  RowConvolution call_;
};

template <class Isa>
void run_row_convolution(const RowConvolution& call, const ParallelFor& parallel) noexcept {
  ConvolvedRows<Isa>(call).run(parallel);
}

}  // namespace weft::kernels
