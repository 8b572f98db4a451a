// SPDX-License-Identifier: Apache-2.0
// Cross entropy of rows of scores, and its gradient in their place, in two passes over memory: what
// layers/linear_cross_entropy.h calls on a CPU where a processor has kernels.
#pragma once

#include <cstdint>

#include "weft/kernels/fused.h"

namespace weft::kernels {

/// For each row of logits l = scores + bias, in float32, with p = softmax(l), smoothing s and V ids:
///   losses[row] = log sum exp l - (1 - s) l[label] - s mean(l),
/// and where `gathers`, scores become (p - t) scale with t = s / V everywhere and 1 - s more at the label, rounded
/// once. A row that holds NaN has the loss NaN. Sums of exponentials are float32 within 1,024 ids and float64 beyond.
struct ScoreLoss {
  DType dtype = DType::kFloat32;         ///< of the scores
  void* scores = nullptr;                ///< [rows, ids], `stride` numbers from row to row
  const float* bias = nullptr;           ///< [ids] or null
  const std::int64_t* labels = nullptr;  ///< [rows], all in [0, ids)
  float* losses = nullptr;               ///< [rows]
  std::int64_t rows = 0;
  std::int64_t ids = 0;
  std::int64_t stride = 0;
  float smoothing = 0;
  float scale = 1;
  bool gathers = false;
};

/// Whether score_loss takes scores of `dtype` with this instruction set: float32 and bfloat16 with all but kScalar.
bool takes_scores(InstructionSet isa, DType dtype) noexcept;

/// One thread's share of the rows. The call must be one that takes_scores says yes to.
void score_loss(InstructionSet isa, const ScoreLoss& call) noexcept;

}  // namespace weft::kernels
