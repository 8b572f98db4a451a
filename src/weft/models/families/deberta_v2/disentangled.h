// SPDX-License-Identifier: Apache-2.0
// DeBERTa's self-attention (He et al. 2021, section 3): what tokens ask of each other, what they ask of distances, and
// what distances ask of them. All layers have one table of distances, of which each makes queries and keys.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

#include "weft/layers/block_config.h"

namespace weft::models {

/// How distances are told apart, and what scores know of them.
struct DistanceTerms {
  std::int64_t span = 0;           ///< rows of the table on each side of distance 0
  std::int64_t buckets = 0;        ///< distances beyond half of them share rows, by the logarithm; 0: each has its own
  std::int64_t farthest = 0;       ///< distance from which on all are one, for buckets
  bool asked_of_distances = true;  ///< c2p: q_i . K[i - j]
  bool asked_by_distances = true;  ///< p2c: k_j . Q[i - j]
  bool shared = true;              ///< the layer's own projections make Q and K of the table; else other ones
  std::optional<layers::NormConfig> norm = {};  ///< of the table

  /// What all scores are divided by, beyond sqrt(head_dim): the root of the number of terms.
  double divisor() const;
};

/// Rows of the table [2 span, hidden] for distances, position of the query minus position of the key. int64 of the same
/// shape.
at::Tensor rows_of_distances(const at::Tensor& distances, const DistanceTerms& terms);

/// Keys that a layer of that pattern sees to each side: -1 for `full`, w / 2 for `window(w)`; nothing for another
/// pattern, whose pairs have no distance.
std::optional<std::int64_t> reach_of_pattern(const std::string& attention);

/// What builds the self-attention of a layer; its BlockConfig::attention has a reach. The table is a parameter of layer
/// 0, `attention.mechanism.distances` [2 span, hidden], its norm `attention.mechanism.norm`.
layers::SelfAttentionFactory disentangled_layer(const DistanceTerms& terms);

}  // namespace weft::models
