// SPDX-License-Identifier: Apache-2.0
// Sums that training takes over large matrices, in vectors: what layers/host/row_kernels.h calls where a processor has
// kernels.
#pragma once

#include <cstdint>

#include "weft/kernels/fused.h"

namespace weft::kernels {

/// sums[column] = the sum over all rows of x [rows, columns], in float32: rows one after the other, 64 of them before
/// their sum is added to that of those before. Any share of the columns gives the same bits.
struct ColumnSums {
  DType dtype = DType::kFloat32;  ///< of x
  const void* x = nullptr;        ///< `stride` numbers from row to row
  float* sums = nullptr;          ///< [columns]
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
};

/// total[i] += part[i] in float32, or with `is_first` total[i] = part[i].
struct Accumulation {
  DType dtype = DType::kFloat32;  ///< of `part`
  const void* part = nullptr;     ///< [count]
  float* total = nullptr;         ///< [count]
  std::int64_t count = 0;
  bool is_first = false;
};

/// Whether both take numbers of `dtype` with this instruction set: float32 and bfloat16 with all but kScalar.
bool sums_numbers(InstructionSet isa, DType dtype) noexcept;

/// One thread's share of the columns. The call must be one that sums_numbers says yes to; likewise accumulate().
void sum_columns(InstructionSet isa, const ColumnSums& call) noexcept;
void accumulate(InstructionSet isa, const Accumulation& call) noexcept;

}  // namespace weft::kernels
