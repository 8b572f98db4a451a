// SPDX-License-Identifier: Apache-2.0
// The reference arithmetic: plain matrix products and a softmax over the keys of a piece, the backward pass in five
// products. Masked scores are replaced and not added to, so that an infinite score of no edge stays out of the row.
#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>

#include <limits>

#include "weft/attention/blocks/products.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor no_edge(const at::Tensor& bias) { return bias == -kInfinity; }

at::Tensor scores_of(const PieceInputs& inputs) {
  at::Tensor scores = at::matmul(inputs.query, inputs.key.transpose(2, 3)).mul_(inputs.scale);
  if (inputs.bias.defined()) {
    scores.add_(inputs.bias).masked_fill_(no_edge(inputs.bias), -kInfinity);
  }
  return scores;
}

at::Tensor dropped(const at::Tensor& probabilities, const PieceInputs& inputs) {
  return inputs.dropout.defined() ? probabilities * inputs.dropout : probabilities;
}

// A row that attends to a key with NaN or infinity has no finite answer.
void mark_invalid(const PieceInputs& inputs, PieceForward& forward) {
  at::Tensor attended = inputs.invalid_keys;
  if (inputs.bias.defined()) {
    attended = attended.logical_and(no_edge(inputs.bias).logical_not());
  }
  const at::Tensor rows = attended.any(-1);
  forward.output.masked_fill_(rows.unsqueeze(-1), kNaN);
  forward.log_sum_exp.masked_fill_(rows, kNaN);
}

}  // namespace

PieceForward portable_forward(const PieceInputs& inputs) {
  at::Tensor scores = scores_of(inputs);
  // A finite maximum: -infinity minus -infinity would be NaN in a row without edges.
  const at::Tensor maximum = scores.amax(-1, true).clamp_min_(std::numeric_limits<float>::lowest());
  const at::Tensor weights = scores.sub_(maximum).exp_();
  const at::Tensor sum = weights.sum(-1, true);
  PieceForward forward;
  forward.output = at::matmul(dropped(weights, inputs), inputs.value).div_(sum);
  forward.log_sum_exp = (maximum + sum.log()).squeeze(-1);
  if (inputs.bias.defined()) {
    const at::Tensor empty = no_edge(inputs.bias).all(-1);
    forward.output.masked_fill_(empty.unsqueeze(-1), 0.0);
    forward.log_sum_exp.masked_fill_(empty, -kInfinity);
  }
  if (inputs.invalid_keys.defined()) {
    mark_invalid(inputs, forward);
  }
  return forward;
}

PieceGradients portable_backward(const PieceInputs& inputs, const PieceResults& results) {
  const at::Tensor probabilities = scores_of(inputs).sub_(results.log_sum_exp.unsqueeze(-1)).exp_();
  const at::Tensor delta = (results.output_gradient * results.output).sum(-1, true);
  at::Tensor scores_gradient = at::matmul(results.output_gradient, inputs.value.transpose(2, 3));
  if (inputs.dropout.defined()) {
    scores_gradient.mul_(inputs.dropout);
  }
  scores_gradient.sub_(delta).mul_(probabilities).mul_(inputs.scale);
  return {at::matmul(scores_gradient, inputs.key), at::matmul(scores_gradient.transpose(2, 3), inputs.query),
          at::matmul(dropped(probabilities, inputs).transpose(2, 3), results.output_gradient)};
}

}  // namespace weft::attention
