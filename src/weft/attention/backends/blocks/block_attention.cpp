// SPDX-License-Identifier: Apache-2.0
// The loops over pieces: every query row belongs to one piece of its head, so outputs and query gradients are stored;
// key and value gradients are added in the order of the pieces.
#include "weft/attention/backends/blocks/block_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "weft/attention/backends/blocks/access.h"
#include "weft/attention/backends/blocks/bias.h"
#include "weft/attention/backends/blocks/inputs.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

at::TensorOptions accumulation_options(const Call& call) {
  return call.query.options().dtype(accumulation_type(call.query));
}

// [B * H, padded rows, C] -> [B, H, rows, C].
at::Tensor unflatten(const at::Tensor& flat, const at::Tensor& like, std::int64_t heads) {
  return flat.view({like.size(0), heads, flat.size(1), flat.size(2)}).narrow(2, 0, like.size(2));
}

// What the backward pass reads of the forward pass, flat; the fields are those of PieceResults.
struct FlatResults {
  at::Tensor output_gradient;
  at::Tensor delta;
  at::Tensor log_sum_exp;
  at::Tensor lost;
  at::Tensor unbounded;

  PieceResults at(const Piece& piece) const {
    PieceResults results{select_queries(output_gradient, piece),
                         select_queries(delta, piece),
                         select_queries(log_sum_exp, piece).squeeze(-1),
                         {},
                         {}};
    if (lost.defined()) {
      results.lost = select_queries(lost, piece);
      results.unbounded = select_queries(unbounded, piece);
    }
    return results;
  }
};

// Rows that are empty or lost have no part in the products.
void take_out_rows(BlockInputs& inputs, FlatResults& results, const at::Tensor& lost) {
  const at::Tensor rows = results.log_sum_exp.eq(-kInfinity).logical_or_(lost);
  results.log_sum_exp.masked_fill_(rows, kInfinity);
  results.output_gradient = results.output_gradient.masked_fill(rows, 0.0);
  results.delta = results.delta.masked_fill(rows, 0.0);
  inputs.clear_queries(rows.squeeze(-1));
}

FlatResults flat_results(BlockInputs& inputs, const Forward& forward, const at::Tensor& output_gradient) {
  FlatResults results{inputs.flat_queries(output_gradient), {}, {}, {}, {}};
  results.delta = (results.output_gradient * inputs.flat_queries(forward.output)).sum(-1, true);
  const std::int64_t rows = forward.log_sum_exp.size(2);
  const at::Tensor log_sum_exp = forward.log_sum_exp.reshape({-1, rows});
  results.log_sum_exp = at::full({log_sum_exp.size(0), inputs.query().size(1), 1}, kInfinity, log_sum_exp.options());
  results.log_sum_exp.squeeze(-1).narrow(1, 0, rows).copy_(log_sum_exp);
  if (all_finite({log_sum_exp, results.delta})) {
    return results;
  }
  at::Tensor lost = at::zeros_like(results.log_sum_exp, at::kBool);
  lost.squeeze(-1).narrow(1, 0, rows).copy_(log_sum_exp.isnan().logical_or_(log_sum_exp == kInfinity));
  take_out_rows(inputs, results, lost);
  const at::Tensor unbounded = at::isfinite(results.delta).logical_not_();
  if (lost.logical_or(unbounded).any().item<bool>()) {
    results.lost = std::move(lost);
    results.unbounded = unbounded;
  }
  return results;
}

// LibTorch's products know no padding: 0 x NaN is NaN.
Call with_zeros_for_padding(Call call) {
  call.key = without_padding(call.key, call.key_keep);
  call.value = without_padding(call.value, call.key_keep);
  return call;
}

}  // namespace

Answer blocks_take(const Call& call) {
  return Answer::unless(call.relative.query.defined(),
                        "the portable path has no relative term; relative_attention() computes it on every device");
}

Forward block_forward(const Call& given) {
  const Call call = with_zeros_for_padding(given);
  const BlockInputs inputs(call);
  const std::int64_t heads = call.query.size(0) * call.query.size(1);
  const std::int64_t rows = inputs.query().size(1);
  const at::Tensor output = at::zeros({heads, rows, call.value.size(3)}, call.query.options());
  const at::Tensor log_sum_exp = at::full({heads, rows, 1}, -kInfinity, accumulation_options(call));
  for (const Piece& piece : inputs.pieces()) {
    const PieceForward forward = portable_forward(inputs.at(piece));
    store_queries(output, piece, forward.output);
    store_queries(log_sum_exp, piece, forward.log_sum_exp.unsqueeze(-1));
  }
  return {unflatten(output, call.query, call.query.size(1)),
          unflatten(log_sum_exp, call.query, call.query.size(1)).squeeze(-1)};
}

Gradients block_backward(const Call& given, const Forward& forward, const at::Tensor& output_gradient) {
  const Call call = with_zeros_for_padding(given);
  BlockInputs inputs(call);
  const FlatResults results = flat_results(inputs, forward, output_gradient);
  const at::TensorOptions options = accumulation_options(call);
  const at::Tensor query = at::zeros(inputs.query().sizes(), call.query.options());
  const at::Tensor key = at::zeros(inputs.key().sizes(), options);
  const at::Tensor value = at::zeros(inputs.value().sizes(), options);
  const at::Tensor distances = call.asks_distances ? at::zeros(call.distances.scores.sizes(), options) : at::Tensor();
  for (const Piece& piece : inputs.pieces()) {
    const PieceGradients gradients = portable_backward(inputs.at(piece), results.at(piece));
    store_queries(query, piece, gradients.query);
    add_keys(key, piece, gradients.key);
    add_keys(value, piece, gradients.value);
    if (call.asks_distances) {
      add_distance_gradient(piece, call.distances, gradients.scores, distances);
    }
  }
  const std::int64_t heads = call.query.size(1);
  return {unflatten(query, call.query, heads), sum_key_heads(unflatten(key, call.key, heads), call.key),
          sum_key_heads(unflatten(value, call.value, heads), call.value), distances};
}

}  // namespace weft::attention
