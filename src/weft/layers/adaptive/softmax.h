// SPDX-License-Identifier: Apache-2.0
// Scores over a vocabulary in clusters (Grave et al. 2017): a rare id's probability is that of its cluster, a class of
// the first softmax, times that inside the cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/layers/adaptive/embeddings.h"
#include "weft/layers/linear_cross_entropy.h"

namespace weft::layers {

/// The parts of one call; AdaptiveHead gathers them. With h the hidden state, softmax 0 is over the ids of cluster 0
/// and then the clusters 1, 2, ... (the order of Hugging Face's TransfoXL; kimiyoung's program has them from the end):
///   scores_i = (h P_i) W_i^T + b_i, W_0 = [W of cluster 0; rows of the clusters]
class AdaptiveScorer {
 public:
  struct Cluster {
    at::Tensor weight;      ///< [ids, columns]
    at::Tensor bias;        ///< [ids]
    at::Tensor projection;  ///< [hidden, columns], or undefined where columns are those of the hidden states
  };
  struct Parts {
    std::vector<Cluster> clusters;
    at::Tensor cluster_weight;  ///< [clusters - 1, columns of cluster 0], or undefined where there is one cluster
    at::Tensor cluster_bias;    ///< [clusters - 1]
  };
  /// `bounds` as AdaptiveConfig::bounds(); `chunk` as linear_cross_entropy() takes it.
  AdaptiveScorer(std::vector<std::int64_t> bounds, Parts parts, std::int64_t chunk);

  /// Logarithms of probabilities: hidden [..., D] -> [..., V], float32 or wider.
  at::Tensor log_probabilities(const at::Tensor& hidden) const;
  /// Mean nats over the labels other than -100; hidden [T, D], labels int64 [T]. A cluster computes the positions that
  /// have its labels alone. Errors: as linear_cross_entropy().
  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& labels) const;
  /// How each label fares, in the order of the text. No gradient.
  LabelScores token_scores(const at::Tensor& hidden, const at::Tensor& labels) const;

 private:
  at::Tensor first_scores(const at::Tensor& hidden) const;

  std::vector<std::int64_t> bounds_;
  Parts parts_;
  std::int64_t chunk_;
};

/// What a cluster has besides its embeddings.
class AdaptiveOutputImpl : public torch::nn::Module {
 public:
  /// Storage only. `table`: whose shapes a weight and a projection of its own have. Tied: no weight, and a projection
  /// only with `projects`.
  AdaptiveOutputImpl(const AdaptiveTableImpl& table, bool tied, bool projects, const at::TensorOptions& options);

  at::Tensor bias;        ///< [ids]
  at::Tensor weight;      ///< [ids, columns], or undefined
  at::Tensor projection;  ///< [hidden, columns], or undefined
};
TORCH_MODULE(AdaptiveOutput);

/// cluster_0, cluster_1, ..., cluster_weight and cluster_bias. Tied, weights are those of the embeddings, and
/// projections too but for that of cluster 0 (as released).
class AdaptiveHeadImpl : public torch::nn::Module {
 public:
  /// Storage only.
  AdaptiveHeadImpl(const AdaptiveConfig& config, bool tied, const at::TensorOptions& options);
  AdaptiveScorer scorer(const AdaptiveEmbeddingsImpl& embeddings, std::int64_t chunk) const;

 private:
  std::vector<std::int64_t> bounds_;
  std::vector<AdaptiveOutput> outputs_;
  at::Tensor cluster_weight_;
  at::Tensor cluster_bias_;
};
TORCH_MODULE(AdaptiveHead);

}  // namespace weft::layers
