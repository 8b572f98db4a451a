// SPDX-License-Identifier: Apache-2.0
// Losses over LibTorch's operators, with labels checked first.
#include "weft/models/heads/task_loss.h"

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>

#include <limits>

#include "weft/attention/accumulation.h"
#include "weft/core/error.h"
#include "weft/layers/linear_cross_entropy.h"

namespace weft::models {
namespace {

at::Tensor like_logits(const at::Tensor& labels, const at::Tensor& logits) {
  require(labels.numel() == logits.numel(), "loss: labels have shape ", labels.sizes(), ", logits ", logits.sizes());
  return labels.reshape(logits.sizes()).to(attention::accumulation_type(logits));
}

at::Tensor counted_cross_entropy(const at::Tensor& logits, const at::Tensor& labels, std::int64_t ignored) {
  const at::Tensor counts = labels.ne(ignored);
  const at::Tensor wrong = counts.logical_and(labels.lt(0).logical_or(labels.ge(logits.size(1))));
  require(!wrong.any().item<bool>(), "loss: a label is outside of [0, ", logits.size(1), ")");
  if (!counts.any().item<bool>()) {
    return attention::at_least_float(logits).sum() * 0.0;  // a mean over nothing would be NaN
  }
  return at::cross_entropy_loss(attention::at_least_float(logits), labels, {}, at::Reduction::Mean, ignored);
}

/// A position outside of the text becomes `length`, which the loss passes over.
at::Tensor clamped(const at::Tensor& positions, const at::Tensor& logits, const char* name) {
  require(positions.defined() && positions.scalar_type() == at::kLong && positions.numel() == logits.size(0), name,
          " must be int64 [", logits.size(0), "], found ",
          [&] { return positions.defined() ? concat(positions.scalar_type(), " ", positions.sizes()) : "none"; });
  return positions.flatten().clamp(0, logits.size(1));
}

}  // namespace

std::string problem_type_of(const EncoderConfig& config, const at::Tensor& labels) {
  const bool whole = !labels.is_floating_point();
  std::string problem = config.problem_type;
  if (problem.empty() && config.num_labels() == 1) {
    problem = "regression";
  } else if (problem.empty()) {
    problem = whole ? "single_label_classification" : "multi_label_classification";
  }
  require(whole == (problem == "single_label_classification"), "loss: labels of ", problem, " must be ",
          whole ? "floating-point numbers" : "int64", ", found ", labels.scalar_type());
  return problem;
}

at::Tensor classification_loss(const EncoderConfig& config, const at::Tensor& logits, const at::Tensor& labels) {
  require(labels.defined(), "loss: labels must be given");
  const std::string problem = problem_type_of(config, labels);
  if (problem == "single_label_classification") {
    return cross_entropy(logits, labels.flatten());
  }
  return problem == "regression" ? regression_loss(logits, labels) : multi_label_loss(logits, labels);
}

at::Tensor regression_loss(const at::Tensor& logits, const at::Tensor& targets) {
  return at::mse_loss(attention::at_least_float(logits), like_logits(targets, logits));
}

at::Tensor multi_label_loss(const at::Tensor& logits, const at::Tensor& targets) {
  return at::binary_cross_entropy_with_logits(attention::at_least_float(logits), like_logits(targets, logits));
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels) {
  require(
      labels.defined() && labels.scalar_type() == at::kLong && labels.dim() == 1 && labels.size(0) == logits.size(0),
      "loss: labels must be int64, ", logits.size(0), " of them, found ",
      [&] { return labels.defined() ? concat(labels.scalar_type(), " ", labels.sizes()) : "none"; });
  return counted_cross_entropy(logits, labels, layers::kIgnoredLabel);
}

at::Tensor replaced_loss(const at::Tensor& logits, const at::Tensor& keep, const at::Tensor& labels) {
  require(labels.defined() && labels.scalar_type() == at::kLong && labels.sizes() == logits.sizes(),
          "loss: labels must be int64 ", logits.sizes(), ", found ",
          [&] { return labels.defined() ? concat(labels.scalar_type(), " ", labels.sizes()) : "none"; });
  at::Tensor counts = labels.ne(layers::kIgnoredLabel);
  counts = keep.defined() ? counts.logical_and(keep) : counts;
  const at::Tensor targets = labels.masked_select(counts);
  require(targets.numel() == 0 || (targets.min().item<std::int64_t>() >= 0 && targets.max().item<std::int64_t>() <= 1),
          "loss: a label is neither 0, 1 nor ", layers::kIgnoredLabel);
  const at::Tensor scores = attention::at_least_float(logits).masked_select(counts);
  // A mean over nothing would be NaN.
  return targets.numel() == 0 ? scores.sum()
                              : at::binary_cross_entropy_with_logits(scores, targets.to(scores.scalar_type()));
}

at::Tensor answer_loss(const EncoderOutput& output, const at::Tensor& keep, const EncoderLabels& labels) {
  const auto loss_of = [&](const at::Tensor& logits, const at::Tensor& positions, const char* name) {
    const at::Tensor targets = clamped(positions, logits, name);
    // float64 for so few numbers: the gradient of the bias is a sum over the text that is zero but for rounding.
    at::Tensor scores = logits.to(at::kDouble);
    if (keep.defined()) {
      scores = scores.masked_fill(keep.logical_not(), std::numeric_limits<float>::lowest());
    }
    return counted_cross_entropy(scores, targets, logits.size(1)).to(attention::accumulation_type(logits));
  };
  return (loss_of(output.start_logits, labels.start_positions, "start_positions") +
          loss_of(output.end_logits, labels.end_positions, "end_positions")) /
         2;
}

}  // namespace weft::models
