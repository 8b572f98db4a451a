// SPDX-License-Identifier: Apache-2.0
// A vocabulary in clusters, the frequent ids first: the embeddings of rare ids have fewer columns, and a projection
// widens them (Baevski and Auli 2019, section 3).
#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/adaptive/config.h"

namespace weft::layers {

/// A table of embeddings. With a division of 1 the whole vocabulary has one, without a projection; otherwise each
/// cluster has its own, and a projection even where it has all columns (as released).
class AdaptiveTableImpl : public torch::nn::Module {
 public:
  /// Storage only. `hidden` 0: no projection.
  AdaptiveTableImpl(std::int64_t ids, std::int64_t columns, std::int64_t hidden, const at::TensorOptions& options);

  at::Tensor weight;      ///< [ids, columns]
  at::Tensor projection;  ///< [hidden, columns], or undefined
};
TORCH_MODULE(AdaptiveTable);

/// From ids to embeddings: cluster_0, cluster_1, ...
class AdaptiveEmbeddingsImpl : public torch::nn::Module {
 public:
  /// Storage only.
  AdaptiveEmbeddingsImpl(const AdaptiveConfig& config, const at::TensorOptions& options);
  /// int64 [...], inside the vocabulary -> [..., hidden] in the dtype of the tables. Every table has a gradient
  /// afterwards, if a zero one.
  at::Tensor forward(const at::Tensor& ids);
  const std::vector<AdaptiveTable>& tables() const noexcept { return tables_; }

 private:
  std::vector<std::int64_t> bounds_;  // of the tables
  std::vector<AdaptiveTable> tables_;
};
TORCH_MODULE(AdaptiveEmbeddings);

/// Positions of `labels` [T] that lie in [begin, end), int64 [n] in their order.
at::Tensor places_between(const at::Tensor& labels, std::int64_t begin, std::int64_t end);

}  // namespace weft::layers
