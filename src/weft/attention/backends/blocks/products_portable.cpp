// SPDX-License-Identifier: Apache-2.0
// The reference arithmetic: plain matrix products and a softmax over the keys of a piece, the backward pass in five
// products. Masked scores are replaced and not added to, so that an infinite score of no edge stays out of the row.
#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/log.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>

#include <limits>

#include "weft/attention/backends/blocks/products.h"
#include "weft/attention/row_positions.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor no_edge(const at::Tensor& bias) { return bias == -kInfinity; }

at::Tensor scores_of(const PieceInputs& inputs) {
  at::Tensor scores =
      with_own_scores(at::matmul(inputs.query, inputs.key.transpose(2, 3)).mul_(inputs.scale), inputs.own);
  if (inputs.bias.defined()) {
    scores.add_(inputs.bias).masked_fill_(no_edge(inputs.bias), -kInfinity);
  }
  return scores;
}

at::Tensor dropped(const at::Tensor& probabilities, const PieceInputs& inputs) {
  return inputs.dropout.defined() ? probabilities * inputs.dropout : probabilities;
}

// Which pairs are edges: bool [R or 1, F or 1, q or 1, k].
at::Tensor edges_of(const PieceInputs& inputs) {
  return inputs.bias.defined() ? no_edge(inputs.bias).logical_not_()
                               : at::ones({1, 1, 1, inputs.key.size(2)}, inputs.key.options().dtype(at::kBool));
}

// A row that attends to a key with NaN or infinity has no finite answer; in a value they are a column of it.
void mark_invalid(const PieceInputs& inputs, PieceForward& forward) {
  const at::Tensor edges = edges_of(inputs);
  const at::Tensor rows = inputs.invalid_keys.logical_and(edges).any(-1);
  forward.output.masked_fill_(rows.unsqueeze(-1), kNaN);
  forward.log_sum_exp.masked_fill_(rows, kNaN);
  const at::Tensor columns = at::matmul(edges.to(inputs.invalid_values.scalar_type()), inputs.invalid_values);
  forward.output.masked_fill_(columns != 0, kNaN);
}

// The gradients of a piece in which some rows are not finite: those of the others, and NaN along the edges of these.
PieceGradients spoiled_backward(const PieceInputs& inputs, const PieceResults& results) {
  const at::Tensor valid = at::isfinite(results.output_gradient);
  const PieceResults finite{results.output_gradient.masked_fill(valid.logical_not(), 0.0),
                            results.delta.masked_fill(results.unbounded, 0.0),
                            results.log_sum_exp,
                            {},
                            {}};
  PieceInputs clean = inputs;
  if (inputs.bias.defined()) {  // entries of a distance table; their rows are lost
    clean.bias = inputs.bias.masked_fill(inputs.bias.isnan().logical_or(inputs.bias == kInfinity), 0.0);
  }
  PieceGradients gradients = portable_backward(clean, finite);
  const at::Tensor edges = edges_of(inputs);
  const at::Tensor rows = results.lost.logical_or(results.unbounded);
  const auto reached_from = [&](const at::Tensor& from) { return edges.logical_and(from).any(2).unsqueeze(-1); };
  const at::Tensor wrong = valid.logical_not().to(inputs.query.scalar_type());
  const at::Tensor seeing = edges.logical_and(results.unbounded).to(wrong.scalar_type());
  gradients.query.masked_fill_(rows, kNaN);
  gradients.key.masked_fill_(reached_from(rows), kNaN);
  gradients.value.masked_fill_(reached_from(results.lost), kNaN);
  if (gradients.scores.defined()) {
    gradients.scores.masked_fill_(edges.logical_and(rows), kNaN);
  }
  gradients.value.masked_fill_(at::matmul(seeing.transpose(2, 3), wrong) != 0, kNaN);
  return gradients;
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
  // Edges whose scores are all -infinity have no softmax; rows without edges are set below.
  forward.log_sum_exp = (maximum + sum.log()).masked_fill_(sum == 0, kNaN).squeeze(-1);
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
  if (results.lost.defined()) {
    return spoiled_backward(inputs, results);
  }
  const at::Tensor probabilities = scores_of(inputs).sub_(results.log_sum_exp.unsqueeze(-1)).exp_();
  at::Tensor scores_gradient = at::matmul(results.output_gradient, inputs.value.transpose(2, 3));
  if (inputs.dropout.defined()) {
    scores_gradient.mul_(inputs.dropout);
  }
  scores_gradient.sub_(results.delta).mul_(probabilities);
  if (inputs.own.defined()) {
    scores_gradient.masked_fill_(inputs.own, 0.0);
  }
  const at::Tensor of_scores = inputs.asks_scores ? scores_gradient.clone() : at::Tensor();
  scores_gradient.mul_(inputs.scale);
  return {at::matmul(scores_gradient, inputs.key), at::matmul(scores_gradient.transpose(2, 3), inputs.query),
          at::matmul(dropped(probabilities, inputs).transpose(2, 3), results.output_gradient), of_scores};
}

}  // namespace weft::attention
