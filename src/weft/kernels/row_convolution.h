// SPDX-License-Identifier: Apache-2.0
// A convolution over the rows of each head: every column alone, with the same weights for all columns of a head.
// Each row that is seen is loaded once for a block of rows that see it.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused.h"

namespace weft::kernels {

/// output[b, h, n, :] = added[b, h, n, :] + sum over t of weights[h, t] values[b, h, n + t - taps / 2, :], rows outside
/// of [0, rows) left out. What is NaN or infinite in a row reaches the rows that see it and no other. Float32.
struct RowConvolution {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t taps = 1;  ///< odd
  Array4<const float*> values;
  const float* weights = nullptr;  ///< [heads, taps]
  Array4<const float*> added;      ///< null data: nothing is added
  Array4<float*> output;           ///< may be `added`, and must not overlap `values`
};

/// Whether convolve_rows can be called with this instruction set: with all but kScalar.
bool convolves_rows(InstructionSet isa) noexcept;

/// Same bits for any number of threads. The call must be one that convolves_rows says yes to.
void convolve_rows(InstructionSet isa, const RowConvolution& call, const ParallelFor& parallel) noexcept;

}  // namespace weft::kernels
