// SPDX-License-Identifier: Apache-2.0
// Each table embeds its own ids; one gather puts the rows in the order of the text.
#include "weft/layers/adaptive/embeddings.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "weft/core/error.h"
#include "weft/layers/linear.h"

namespace weft::layers {

AdaptiveTableImpl::AdaptiveTableImpl(std::int64_t ids, std::int64_t columns, std::int64_t hidden,
                                     const at::TensorOptions& options)
    : weight(register_parameter("weight", at::empty({ids, columns}, options))) {
  if (hidden > 0) {
    projection = register_parameter("projection", at::empty({hidden, columns}, options));
  }
}

AdaptiveEmbeddingsImpl::AdaptiveEmbeddingsImpl(const AdaptiveConfig& config, const at::TensorOptions& options)
    : bounds_(config.division > 1 ? config.bounds() : std::vector<std::int64_t>{0, config.vocab_size}) {
  const std::int64_t hidden = config.division > 1 ? config.hidden_size : 0;
  for (std::int64_t i = 0; i + 1 < std::ssize(bounds_); ++i) {
    const auto place = static_cast<std::size_t>(i);
    tables_.emplace_back(register_module(
        concat("cluster_", i), AdaptiveTable(bounds_[place + 1] - bounds_[place], config.columns(i), hidden, options)));
  }
}

at::Tensor AdaptiveEmbeddingsImpl::forward(const at::Tensor& ids) {
  if (tables_.size() == 1 && !tables_.front()->projection.defined()) {
    return at::embedding(tables_.front()->weight, ids);
  }
  const at::Tensor flat = ids.flatten();
  std::vector<at::Tensor> rows;
  std::vector<at::Tensor> places;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    AdaptiveTableImpl& table = *tables_[i];
    places.push_back(places_between(flat, bounds_[i], bounds_[i + 1]));
    const at::Tensor narrow = at::embedding(table.weight, flat.index_select(0, places.back()) - bounds_[i]);
    // Autocast would make the residual stream behind them as short as a product's result.
    rows.push_back(apply_linear(narrow, table.projection, {}).to(table.weight.scalar_type()));
  }
  const at::Tensor order = at::cat(places);
  const at::Tensor back = at::empty_like(order).scatter_(0, order, at::arange(order.size(0), order.options()));
  std::vector<std::int64_t> shape = ids.sizes().vec();
  shape.push_back(rows.front().size(1));
  return at::cat(rows).index_select(0, back).view(shape);
}

at::Tensor places_between(const at::Tensor& labels, std::int64_t begin, std::int64_t end) {
  return labels.ge(begin).logical_and_(labels.lt(end)).nonzero().squeeze(1);
}

}  // namespace weft::layers
