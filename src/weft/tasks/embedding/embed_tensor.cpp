// SPDX-License-Identifier: Apache-2.0
// The modules as LibTorch's operators, so that gradients go through them; sums in at least float32.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

#include <limits>
#include <tuple>
#include <vector>

#include "weft/attention/accumulation.h"
#include "weft/core/error.h"
#include "weft/tasks/embedding/recipe.h"

namespace weft::tasks {
namespace {

using attention::at_least_float;
using checkpoint::PoolingMode;

constexpr double kLeastLength = 1e-12;  // of torch.nn.functional.normalize
constexpr double kLeastTokens = 1e-9;   // of the library's means

at::Tensor normalized(const at::Tensor& x) { return x / x.norm(2, {-1}, true).clamp_min(kLeastLength); }

// One call a kind.
struct Apply {
  bool training = false;

  at::Tensor operator()(const at::Tensor& x, const checkpoint::DenseModule& dense) const {
    const at::ScalarType type = x.scalar_type();
    const at::Tensor bias = dense.bias.defined() ? dense.bias.to(type) : at::Tensor();
    at::Tensor y = dense.activation->of_vectors(at::linear(x, dense.weight.to(type), bias));
    if (!dense.use_residual) {
      return y;
    }
    return y + (dense.residual.defined() ? at::linear(x, dense.residual.to(type)) : x);
  }
  at::Tensor operator()(const at::Tensor& x, const checkpoint::LayerNormModule& norm) const {
    constexpr double kEpsilon = 1e-5;
    const at::ScalarType type = x.scalar_type();
    return at::layer_norm(x, norm.weight.sizes(), norm.weight.to(type), norm.bias.to(type), kEpsilon);
  }
  at::Tensor operator()(const at::Tensor& x, const checkpoint::NormalizeModule& /*normalize*/) const {
    return normalized(x);
  }
  at::Tensor operator()(const at::Tensor& x, const checkpoint::DropoutModule& dropout) const {
    return training ? at::dropout(x, dropout.rate, true) : x;
  }
  at::Tensor operator()(const at::Tensor& /*x*/, const checkpoint::PoolingModule& /*pooling*/) const {
    fail(ErrorKind::kArgument, "a recipe has one pooling, at its beginning");
  }
};

// What one call of pool_tensor() looks at.
struct PooledRows {
  at::Tensor hidden;  // [batch, length, width]
  at::Tensor kept;    // bool [batch, length]
  at::Tensor places;  // int64 [batch, length], from 0

  at::Tensor weights() const { return kept.unsqueeze(-1).to(hidden.scalar_type()); }
  // The rows at `at` [batch].
  at::Tensor rows(const at::Tensor& at) const {
    const at::Tensor index = at.unsqueeze(-1).unsqueeze(-1).expand({-1, 1, hidden.size(2)});
    return hidden.gather(1, index).squeeze(1);
  }
  at::Tensor sum() const { return (hidden * weights()).sum(1); }
  at::Tensor count() const { return weights().sum(1).clamp_min(kLeastTokens); }
};

at::Tensor pooled(const PooledRows& rows, PoolingMode mode) {
  const std::int64_t length = rows.hidden.size(1);
  switch (mode) {
    case PoolingMode::kCls: {
      const at::Tensor first = rows.places.masked_fill(rows.kept.logical_not(), length).amin(1);
      return rows.rows(first.masked_fill(first.eq(length), 0));
    }
    case PoolingMode::kMax: {
      const at::Tensor left_out = rows.kept.logical_not().unsqueeze(-1);
      return std::get<0>(rows.hidden.masked_fill(left_out, -std::numeric_limits<double>::infinity()).max(1));
    }
    case PoolingMode::kMean:
      return rows.sum() / rows.count();
    case PoolingMode::kMeanSqrtLength:
      return rows.sum() / rows.count().sqrt();
    case PoolingMode::kWeightedMean: {
      const at::Tensor weights = rows.weights() * (rows.places + 1).unsqueeze(-1);
      return (rows.hidden * weights).sum(1) / weights.sum(1).clamp_min(kLeastTokens);
    }
    case PoolingMode::kLastToken:
      break;
  }
  const at::Tensor last = rows.places.masked_fill(rows.kept.logical_not(), -1).amax(1);
  return rows.rows(last.clamp_min(0)).masked_fill(last.lt(0).unsqueeze(-1), 0.0);
}

}  // namespace

at::Tensor pool_tensor(const checkpoint::PoolingModule& pooling, const at::Tensor& hidden, const at::Tensor& mask,
                       std::int64_t prompt_tokens) {
  require(hidden.dim() == 3 && mask.dim() == 2 && hidden.size(0) == mask.size(0) && hidden.size(1) == mask.size(1) &&
              hidden.size(1) >= 1,
          "pooling needs states [batch, length, width] and a mask [batch, length], found ", hidden.sizes(), " and ",
          mask.sizes());
  PooledRows rows{at_least_float(hidden), mask.ne(0), {}};
  const std::int64_t length = hidden.size(1);
  rows.places = at::arange(length, rows.kept.options().dtype(at::kLong)).unsqueeze(0).expand_as(rows.kept);
  if (!pooling.include_prompt && prompt_tokens > 0) {
    // Counted from the first token that is no padding, as tokenisers may pad on the left.
    const at::Tensor first = rows.places.masked_fill(rows.kept.logical_not(), length).amin(1, true);
    rows.kept = rows.kept.logical_and(rows.places.ge(first + prompt_tokens));
  }
  std::vector<at::Tensor> vectors;
  vectors.reserve(pooling.modes.size());
  for (const PoolingMode mode : pooling.modes) {
    vectors.push_back(pooled(rows, mode));
  }
  return vectors.size() == 1 ? vectors.front() : at::cat(vectors, -1);
}

at::Tensor after_pooling(const EmbedRecipe& recipe, const at::Tensor& pooled, bool training) {
  at::Tensor x = at_least_float(pooled);
  for (const checkpoint::SentenceModule& module : recipe.modules) {
    x = std::visit([&](const auto& kind) { return Apply{training}(x, kind); }, module);
  }
  if (recipe.dimensions > 0) {
    x = x.narrow(-1, 0, recipe.dimensions);
  }
  return recipe.normalize ? normalized(x) : x;
}

at::Tensor embed_tensor(const EmbedRecipe& recipe, const at::Tensor& hidden, const at::Tensor& mask,
                        std::int64_t prompt_tokens, bool training) {
  return after_pooling(recipe, pool_tensor(recipe.pooling, hidden, mask, prompt_tokens), training);
}

}  // namespace weft::tasks
