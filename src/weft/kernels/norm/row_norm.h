// SPDX-License-Identifier: Apache-2.0
// Norms of rows in one pass over memory, with the sum of a residual connection where there is one: what layers/norm.h
// calls at inference where a processor has kernels.
#pragma once

#include <cstdint>

#include "weft/kernels/fused.h"

namespace weft::kernels {

/// The widest row: a thread has three of them on its stack.
inline constexpr std::int64_t kMostNormWidth = 8192;

/// For each row x [width], or x + added rounded to the dtype:
///   output = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) weight + bias (Ba, Kiros and Hinton 2016),
/// with `is_root` n weight + bias for n = x / sqrt(mean(x^2) + epsilon) rounded to the dtype (Zhang and Sennrich 2019).
/// Sums are float32, and the mean is known before squares are summed. A row that holds NaN becomes NaN. So does one
/// that holds infinity; with `is_root` only the infinity does, and n is 0 beside it.
struct RowNorm {
  DType dtype = DType::kFloat32;  ///< of all arrays; rows are contiguous
  bool is_root = false;
  const void* x = nullptr;       ///< [rows, width]
  const void* added = nullptr;   ///< [rows, width] or null
  const void* weight = nullptr;  ///< [width]
  const void* bias = nullptr;    ///< [width] or null
  void* output = nullptr;        ///< [rows, width]; may be `x` or `added`
  std::int64_t rows = 0;
  std::int64_t width = 0;
  float epsilon = 0;
};

/// Whether norm_rows takes rows of so many numbers of `dtype` with this instruction set: float32 and bfloat16 up to
/// kMostNormWidth with all but kScalar.
bool norms_rows(InstructionSet isa, DType dtype, std::int64_t width) noexcept;

/// One thread's share of a tensor. The call must be one that norms_rows says yes to.
void norm_rows(InstructionSet isa, const RowNorm& call) noexcept;

}  // namespace weft::kernels
