// SPDX-License-Identifier: Apache-2.0
// Losses against the scores of a teacher (Hinton et al. 2015, "Distilling the Knowledge in a Neural Network"):
// T^2 KL(softmax(teacher / T) || softmax(student / T)), whose gradients keep their size when T changes.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/layers/linear_cross_entropy.h"

namespace weft::layers {

/// A teacher of scores over the vocabulary, asked for a few rows at a time.
struct SoftTargets {
  std::function<at::Tensor(std::int64_t begin, std::int64_t rows)> scores;  ///< [rows, V], without a gradient
  double weight = 0.5;       ///< the teacher's share of the loss; the labels have the rest
  double temperature = 1.0;  ///< T, which divides both models' logits; above 0
};

/// (1 - weight) times the loss of linear_cross_entropy() and weight times the mean of T^2 KL over the same rows, whose
/// labels are ids. The scores of neither model exist for more than `chunk` rows at once. Errors: as there; kArgument
/// for a teacher of another vocabulary.
at::Tensor distilled_cross_entropy(const Labelled& rows, const HeadWeights& head, const SoftTargets& teacher,
                                   std::int64_t chunk, double smoothing);

/// The mean over rows of T^2 KL alone, for heads of few scores: logits and teacher [R, C]; 0 without a row. float32, or
/// float64 for float64 logits. Errors: kArgument for other shapes.
at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& teacher, double temperature);

}  // namespace weft::layers
