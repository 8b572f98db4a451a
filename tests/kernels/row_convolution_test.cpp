// SPDX-License-Identifier: Apache-2.0
// The convolution over rows in every instruction set of this machine against one sum a number in float64; what is not
// finite reaches the rows that see it alone; threads change no bit.
#include "weft/kernels/row_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "weft/core/random.h"

namespace weft::test {
namespace {

using kernels::InstructionSet;
using kernels::RowConvolution;

struct Convolution {
  RowConvolution call;
  std::vector<float> values;
  std::vector<float> weights;
  std::vector<float> added;
  std::vector<float> output;
};

std::vector<float> drawn(std::int64_t count, std::uint64_t seed) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = random_unit(philox(seed, i, 0).value[0]) - 0.5F;
  }
  return numbers;
}

/// Values in the order batch, row, head, column, with a row between two; what is added, and the output, in the order
/// batch, head, row.
Convolution convolution(std::int64_t rows, std::int64_t columns, std::int64_t taps) {
  constexpr std::int64_t kBatch = 2;
  constexpr std::int64_t kHeads = 3;
  Convolution made;
  made.call = {.batch = kBatch, .heads = kHeads, .rows = rows, .columns = columns, .taps = taps};
  const std::int64_t wide = (kHeads + 1) * columns;
  made.values = drawn(kBatch * rows * wide, 1);
  made.weights = drawn(kHeads * taps, 2);
  made.added = drawn(kBatch * kHeads * rows * columns, 3);
  made.output.assign(made.added.size(), -1.0F);
  made.call.values = {nullptr, rows * wide, columns, wide};
  made.call.added = {nullptr, kHeads * rows * columns, rows * columns, columns};
  made.call.output = {nullptr, kHeads * rows * columns, rows * columns, columns};
  return made;
}

void run(Convolution& made, InstructionSet isa, bool adds, const ParallelFor& parallel = kSerial) {
  made.call.values.data = made.values.data();
  made.call.weights = made.weights.data();
  made.call.added.data = adds ? made.added.data() : nullptr;
  made.call.output.data = made.output.data();
  kernels::convolve_rows(isa, made.call, parallel);
}

double expected_at(const Convolution& made, std::int64_t plane, std::int64_t row, std::int64_t column, bool adds) {
  const RowConvolution& call = made.call;
  const std::int64_t batch = plane / call.heads;
  const std::int64_t head = plane % call.heads;
  double sum =
      adds
          ? static_cast<double>(made.added[static_cast<std::size_t>((plane * call.rows + row) * call.columns + column)])
          : 0;
  for (std::int64_t tap = 0; tap < call.taps; ++tap) {
    const std::int64_t seen = row + tap - call.taps / 2;
    if (seen >= 0 && seen < call.rows) {
      const std::int64_t at =
          batch * call.values.batch_stride + head * call.values.head_stride + seen * call.values.row_stride + column;
      sum += static_cast<double>(made.weights[static_cast<std::size_t>(head * call.taps + tap)]) *
             static_cast<double>(made.values[static_cast<std::size_t>(at)]);
    }
  }
  return sum;
}

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> found;
  for (const InstructionSet isa : kernels::kInstructionSets) {
    if (kernels::is_available(isa) && kernels::convolves_rows(isa)) {
      found.push_back(isa);
    }
  }
  return found;
}

void expect_sums(const Convolution& made, bool adds, const char* isa) {
  const RowConvolution& call = made.call;
  double gap = 0;
  std::size_t next = 0;
  for (std::int64_t plane = 0; plane < call.batch * call.heads; ++plane) {
    for (std::int64_t row = 0; row < call.rows; ++row) {
      for (std::int64_t column = 0; column < call.columns; ++column) {
        gap = std::max(
            gap, std::abs(static_cast<double>(made.output[next++]) - expected_at(made, plane, row, column, adds)));
      }
    }
  }
  // A float32 sum of up to 1,023 products of at most 1/4.
  EXPECT_LT(gap, 1e-4) << isa << ", " << call.rows << " x " << call.columns << ", " << call.taps << " taps";
}

TEST(RowConvolution, EveryInstructionSetEqualsTheSums) {
  ASSERT_FALSE(kernels::convolves_rows(InstructionSet::kScalar));
  for (const InstructionSet isa : instruction_sets()) {
    for (const std::int64_t rows : {1, 2, 7, 9, 64, 257, 530}) {
      for (const std::int64_t columns : {1, 8, 24, 41, 64}) {
        for (const std::int64_t taps : {1, 3, 65}) {
          Convolution made = convolution(rows, columns, taps);
          run(made, isa, rows % 2 == 0);
          expect_sums(made, rows % 2 == 0, kernels::to_string(isa));
        }
      }
    }
    Convolution wide = convolution(40, 32, 1023);
    run(wide, isa, true);
    expect_sums(wide, true, kernels::to_string(isa));
  }
}

TEST(RowConvolution, AddsInPlace) {
  for (const InstructionSet isa : instruction_sets()) {
    Convolution apart = convolution(100, 40, 5);
    run(apart, isa, true);
    Convolution in_place = convolution(100, 40, 5);
    in_place.output = in_place.added;
    run(in_place, isa, false);  // binds the arrays
    in_place.output = in_place.added;
    in_place.call.added.data = in_place.output.data();
    kernels::convolve_rows(isa, in_place.call, kSerial);
    EXPECT_EQ(in_place.output, apart.output) << kernels::to_string(isa);
  }
}

TEST(RowConvolution, WhatIsNotFiniteReachesTheRowsThatSeeIt) {
  for (const InstructionSet isa : instruction_sets()) {
    for (const std::int64_t columns : {5, 64}) {
      Convolution made = convolution(60, columns, 5);
      // Row 21 of the first head of the first text, its second column.
      made.values[static_cast<std::size_t>(21 * made.call.values.row_stride + 1)] =
          std::numeric_limits<float>::quiet_NaN();
      run(made, isa, false);
      for (std::int64_t i = 0; i < std::ssize(made.output); ++i) {
        const std::int64_t row = i / columns;
        const bool sees = i % columns == 1 && row >= 19 && row <= 23;
        ASSERT_EQ(std::isnan(made.output[static_cast<std::size_t>(i)]), sees) << kernels::to_string(isa) << ' ' << i;
      }
    }
  }
}

/// Three threads at once, each with every third item.
constexpr ParallelFor kThree{[](std::int64_t count, std::int64_t, ParallelFor::Body body, void* context) {
                               std::vector<std::jthread> threads;
                               threads.reserve(3);
                               for (std::int64_t first = 0; first < 3; ++first) {
                                 threads.emplace_back([=] {
                                   for (std::int64_t item = first; item < count; item += 3) {
                                     body(context, item, item + 1);
                                   }
                                 });
                               }
                             },
                             [] { return std::int64_t{3}; }};

TEST(RowConvolution, ThreadsChangeNoBit) {
  for (const InstructionSet isa : instruction_sets()) {
    Convolution one = convolution(700, 24, 65);
    Convolution three = convolution(700, 24, 65);
    run(one, isa, true);
    run(three, isa, true, kThree);
    EXPECT_EQ(one.output, three.output) << kernels::to_string(isa);
  }
}

}  // namespace
}  // namespace weft::test
