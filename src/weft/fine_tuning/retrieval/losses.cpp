// SPDX-License-Identifier: Apache-2.0
// Cosines are products of vectors of length 1.
#include "weft/fine_tuning/retrieval/losses.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/layers/precision.h"

namespace weft::fine_tuning {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

at::Tensor unit(const at::Tensor& rows) { return rows / rows.norm(2, {-1}, true).clamp_min(1e-12); }

at::Tensor cosines_of_pairs(const at::Tensor& first, const at::Tensor& second) {
  return (unit(first) * unit(second)).sum(-1);
}

// Each row's own column is that of its number.
at::Tensor own_column_loss(const at::Tensor& scores) {
  return at::cross_entropy_loss(scores, at::arange(scores.size(0), at::kLong));
}

}  // namespace

at::Tensor in_batch_loss(const at::Tensor& queries, const at::Tensor& texts, const InBatchLoss& options) {
  const layers::WithoutAutocast exact;
  const std::int64_t pairs = queries.size(0);
  at::Tensor scores = unit(queries).matmul(unit(texts).t()) * options.scale;
  if (options.no_negatives.defined()) {
    scores = scores.masked_fill(options.no_negatives, kMinusInfinity);
  }
  const at::Tensor forward = own_column_loss(scores);
  return options.symmetric ? (forward + own_column_loss(scores.narrow(1, 0, pairs).t())) / 2.0 : forward;
}

at::Tensor cosine_loss(const at::Tensor& first, const at::Tensor& second, const at::Tensor& scores) {
  const layers::WithoutAutocast exact;
  const at::Tensor cosines = cosines_of_pairs(first, second);
  return at::mse_loss(cosines, scores.to(cosines.scalar_type()));
}

at::Tensor cosent_loss(const at::Tensor& first, const at::Tensor& second, const at::Tensor& scores, double scale) {
  const layers::WithoutAutocast exact;
  const at::Tensor cosines = cosines_of_pairs(first, second) * scale;
  const at::Tensor differences = cosines.unsqueeze(1) - cosines.unsqueeze(0);
  const at::Tensor in_order = scores.unsqueeze(1) < scores.unsqueeze(0);
  const at::Tensor wrong = differences.masked_fill(in_order.logical_not(), kMinusInfinity).flatten();
  return at::logsumexp(at::cat({at::zeros({1}, wrong.options()), wrong}), {0}, false);
}

at::Tensor matryoshka_loss(const at::Tensor& rows, std::span<const std::int64_t> dims, std::span<const double> weights,
                           const std::function<at::Tensor(const at::Tensor&)>& loss) {
  const layers::WithoutAutocast exact;
  at::Tensor sum;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    require(dims[i] <= rows.size(-1), "matryoshka_dims: a vector has ", rows.size(-1), " numbers, found ", dims[i]);
    const at::Tensor one = loss(unit(rows.narrow(-1, 0, dims[i]))) * weights[i];
    sum = sum.defined() ? sum + one : one;
  }
  return sum;
}

at::Tensor binary_loss(const at::Tensor& logits, const at::Tensor& labels) {
  const layers::WithoutAutocast exact;
  return at::binary_cross_entropy_with_logits(logits, labels.to(logits.scalar_type()));
}

at::Tensor list_loss(const at::Tensor& logits, const at::Tensor& labels, std::span<const std::int64_t> sizes) {
  const layers::WithoutAutocast exact;
  at::Tensor sum = at::zeros({}, logits.options().requires_grad(false));
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    const at::Tensor wanted = labels.narrow(0, begin, size).to(logits.scalar_type());
    sum = sum - (at::log_softmax(logits.narrow(0, begin, size), 0) * (wanted / wanted.sum())).sum();
    begin += size;
  }
  return sum / static_cast<double>(sizes.size());
}

}  // namespace weft::fine_tuning
