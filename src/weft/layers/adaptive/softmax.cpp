// SPDX-License-Identifier: Apache-2.0
// Each cluster has a separate linear cross entropy over the positions that have its labels.
#include "weft/layers/adaptive/softmax.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/DeviceType.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "weft/attention/accumulation.h"
#include "weft/core/error.h"
#include "weft/layers/cross_entropy/scores_by_chunks.h"
#include "weft/layers/linear.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kLogarithmsOfAChunk = std::int64_t{1} << 22;  // 16 MB of float32

at::Tensor projected(const at::Tensor& hidden, const at::Tensor& projection) {
  return projection.defined() ? apply_linear(hidden, projection.t(), {}) : hidden;
}

/// Labels of the first softmax: an id of its cluster, or the class of the id's cluster.
at::Tensor first_labels(const at::Tensor& labels, const std::vector<std::int64_t>& bounds) {
  at::Tensor first = labels;
  for (std::size_t i = 1; i + 1 < bounds.size(); ++i) {
    const at::Tensor inside = labels.ge(bounds[i]).logical_and_(labels.lt(bounds[i + 1]));
    first = first.masked_fill(inside, bounds[1] + static_cast<std::int64_t>(i) - 1);
  }
  return first;
}

}  // namespace

AdaptiveScorer::AdaptiveScorer(std::vector<std::int64_t> bounds, Parts parts, std::int64_t chunk)
    : bounds_(std::move(bounds)), parts_(std::move(parts)), chunk_(chunk) {}

at::Tensor AdaptiveScorer::first_scores(const at::Tensor& hidden) const {
  const Cluster& first = parts_.clusters.front();
  const at::Tensor narrow = projected(hidden, first.projection);
  const at::Tensor ids = apply_linear(narrow, first.weight, first.bias);
  // The scores are joined and not the weights, which are the larger ones where a token is decoded.
  return parts_.cluster_weight.defined()
             ? at::cat({ids, apply_linear(narrow, parts_.cluster_weight, parts_.cluster_bias)}, -1)
             : ids;
}

at::Tensor AdaptiveScorer::log_probabilities(const at::Tensor& hidden) const {
  const at::Tensor first = at::log_softmax(attention::at_least_float(first_scores(hidden)), -1);
  std::vector<at::Tensor> parts = {first.narrow(-1, 0, bounds_[1])};
  for (std::size_t i = 1; i < parts_.clusters.size(); ++i) {
    const Cluster& cluster = parts_.clusters[i];
    const at::Tensor scores = apply_linear(projected(hidden, cluster.projection), cluster.weight, cluster.bias);
    const std::int64_t of_cluster = bounds_[1] + static_cast<std::int64_t>(i) - 1;
    parts.push_back(at::log_softmax(attention::at_least_float(scores), -1) + first.narrow(-1, of_cluster, 1));
  }
  return at::cat(parts, -1);
}

at::Tensor AdaptiveScorer::loss(const at::Tensor& hidden, const at::Tensor& labels) const {
  const Labelled kept = keep_labelled(hidden, labels);
  const Cluster& first = parts_.clusters.front();
  const bool joins = parts_.cluster_weight.defined();
  const HeadWeights head{joins ? at::cat({first.weight, parts_.cluster_weight}) : first.weight,
                         joins ? at::cat({first.bias, parts_.cluster_bias}) : first.bias};
  at::Tensor loss =
      linear_cross_entropy(projected(kept.hidden, first.projection), head, first_labels(kept.labels, bounds_), chunk_);
  // Means over other numbers of positions: shares of all positions make them sum up.
  const auto count = static_cast<double>(std::max<std::int64_t>(kept.labels.size(0), 1));
  for (std::size_t i = 1; i < parts_.clusters.size(); ++i) {
    const Cluster& cluster = parts_.clusters[i];
    const at::Tensor places = places_between(kept.labels, bounds_[i], bounds_[i + 1]);
    const at::Tensor nats =
        linear_cross_entropy(projected(kept.hidden.index_select(0, places), cluster.projection),
                             {cluster.weight, cluster.bias}, kept.labels.index_select(0, places) - bounds_[i], chunk_);
    loss = loss + nats * (static_cast<double>(places.size(0)) / count);
  }
  return loss;
}

LabelScores AdaptiveScorer::token_scores(const at::Tensor& hidden, const at::Tensor& labels) const {
  const at::NoGradGuard without_gradients;
  const std::int64_t step =
      chunk_ > 0 ? chunk_ : std::max<std::int64_t>(16, kLogarithmsOfAChunk / std::max<std::int64_t>(bounds_.back(), 1));
  const auto scores_of = [&](const Labelled& some) {
    const at::Tensor targets = some.labels.unsqueeze(1);
    const at::Tensor logarithms = log_probabilities(some.hidden);
    return LabelScores{logarithms.gather(1, targets).neg().squeeze(1),
                       logarithms.argmax(1, true).eq(targets).squeeze(1)};
  };
  return scores_by_chunks(hidden, labels, labelled_rows(labels), step, scores_of);
}

AdaptiveOutputImpl::AdaptiveOutputImpl(const AdaptiveTableImpl& table, bool tied, bool projects,
                                       const at::TensorOptions& options)
    : bias(register_parameter("bias", at::empty({table.weight.size(0)}, options))) {
  if (!tied) {
    weight = register_parameter("weight", at::empty(table.weight.sizes(), options));
  }
  if (table.projection.defined() && (!tied || projects)) {
    projection = register_parameter("projection", at::empty(table.projection.sizes(), options));
  }
}

AdaptiveHeadImpl::AdaptiveHeadImpl(const AdaptiveConfig& config, bool tied, const at::TensorOptions& options)
    : bounds_(config.bounds()) {
  // For its shapes.
  const AdaptiveEmbeddings embeddings(config, at::TensorOptions(at::kMeta));
  for (const AdaptiveTable& table : embeddings->tables()) {
    const std::size_t i = outputs_.size();
    outputs_.emplace_back(register_module(concat("cluster_", i), AdaptiveOutput(*table, tied, i == 0, options)));
  }
  if (config.clusters() > 1) {
    const std::int64_t columns = embeddings->tables().front()->weight.size(1);
    cluster_weight_ = register_parameter("cluster_weight", at::empty({config.clusters() - 1, columns}, options));
    cluster_bias_ = register_parameter("cluster_bias", at::empty({config.clusters() - 1}, options));
  }
}

AdaptiveScorer AdaptiveHeadImpl::scorer(const AdaptiveEmbeddingsImpl& embeddings, std::int64_t chunk) const {
  AdaptiveScorer::Parts parts{{}, cluster_weight_, cluster_bias_};
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const AdaptiveOutputImpl& own = *outputs_[i];
    const AdaptiveTableImpl& table = *embeddings.tables()[i];
    parts.clusters.push_back({own.weight.defined() ? own.weight : table.weight, own.bias,
                              own.projection.defined() ? own.projection : table.projection});
  }
  if (outputs_.size() + 1 < bounds_.size()) {
    // One table for all clusters: views of its rows, whose gradients one join makes a table's again.
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i + 1 < bounds_.size(); ++i) {
      sizes.push_back(bounds_[i + 1] - bounds_[i]);
    }
    const std::vector<at::Tensor> weights = parts.clusters.front().weight.split_with_sizes(sizes);
    const std::vector<at::Tensor> biases = parts.clusters.front().bias.split_with_sizes(sizes);
    parts.clusters.clear();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      parts.clusters.push_back({weights[i], biases[i], {}});
    }
  }
  return {bounds_, parts, chunk};
}

}  // namespace weft::layers
