// SPDX-License-Identifier: Apache-2.0
// Logits over the labels, or the choices, of an example: their loss in training, and what is kept of them on held-out
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/models/encoder_model.h"
#include "weft/tasks/encoder_runner.h"

namespace weft::fine_tuning {

/// How labels count in a loss; nothing special by default.
struct LabelLoss {
  at::Tensor weights;      ///< float32 [labels], or undefined
  double smoothing = 0.0;  ///< part of each target that is spread over the labels
};

/// The loss of `targets` (int64, the shape of the logits without their last dimension; -100 is passed over), as the
/// model's head has it; with weights or smoothing as torch's cross_entropy has them.
at::Tensor label_loss(const at::Tensor& logits, const at::Tensor& targets, const LabelLoss& options);

/// Copies the logits of an example to `kept`. Errors: kNumeric where one is not finite.
void keep_logits(const tasks::WindowOutput& output, std::span<double> kept);

/// -log softmax(logits)[label] in float64. `logits` are finite and not empty.
double cross_entropy_of(std::span<const double> logits, std::int64_t label);

// Of kept logits, `width` an example, one example behind the other:

/// The label with the highest logit, the first of equal ones.
std::vector<std::int64_t> best_labels(std::span<const double> kept, std::size_t width);
/// The mean of cross_entropy_of(logits, truth).
double mean_cross_entropy(std::span<const double> kept, std::size_t width, std::span<const std::int64_t> truth);
/// Softmax of one example's logits.
std::vector<double> probabilities(std::span<const double> logits);

}  // namespace weft::fine_tuning
