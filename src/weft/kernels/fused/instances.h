// SPDX-License-Identifier: Apache-2.0
// What each instruction set's file offers to the dispatch in fused.cpp.
#pragma once

#include "weft/kernels/element_dropout.h"
#include "weft/kernels/elements/gelu.h"
#include "weft/kernels/elements/sums.h"
#include "weft/kernels/fused.h"
#include "weft/kernels/loss/score_loss.h"
#include "weft/kernels/norm/row_norm.h"
#include "weft/kernels/row_convolution.h"

namespace weft::kernels {

struct FusedKernels {
  Status (*forward)(const AttentionArguments&, const ParallelFor&) noexcept;
  Status (*backward)(const AttentionArguments&, const AttentionGradients&, const ParallelFor&) noexcept;
  void (*drop)(const ElementDropout&) noexcept;
  void (*convolve)(const RowConvolution&, const ParallelFor&) noexcept;
  void (*norm)(const RowNorm&) noexcept;
  void (*score)(const ScoreLoss&) noexcept = nullptr;
  void (*sum_columns)(const ColumnSums&) noexcept = nullptr;
  void (*accumulate)(const Accumulation&) noexcept = nullptr;
  void (*gelu)(const Gelu&) noexcept = nullptr;
};

extern const FusedKernels kGenericKernels;
extern const FusedKernels kAvx2Kernels;
extern const FusedKernels kAvx512Kernels;
extern const FusedKernels kAvx512Bf16Kernels;
extern const FusedKernels kAmxKernels;

/// Multiplies two small matrices with AMX and compares. Only where the processor has it and Linux allows it.
bool amx_product_is_right() noexcept;

}  // namespace weft::kernels
