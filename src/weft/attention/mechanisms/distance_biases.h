// SPDX-License-Identifier: Apache-2.0
// What the distance of query and key adds to the scores of one layer, for the mechanisms that take it from their site:
// the slopes of ALiBi, published or learned, or learned scores of distances in buckets.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>

#include "weft/attention/attention.h"
#include "weft/attention/mechanism.h"

namespace weft::attention {

/// Undefined where distances add nothing.
class DistanceBiases {
 public:
  DistanceBiases() = default;
  /// Those of `site`. What is learned `owner` registers: slopes as `slopes`, and in an encoder those for keys behind
  /// the query as `slopes_behind` (BiALiBi), which begin as alibi_slopes(); scores of buckets as
  /// `of_buckets` [buckets, heads], which begin as zeros, in layer 0, and the other layers share them, or in each
  /// layer.
  DistanceBiases(const MechanismSite& site, torch::nn::Module& owner, const at::TensorOptions& options,
                 const char* of_buckets = "distance_biases");

  bool defined() const noexcept { return slopes_.defined() || buckets_.has_value(); }
  /// A table for distances up to `reach` on both sides, with numbers as `options` say; differentiable.
  DistanceTable table(std::int64_t reach, const at::TensorOptions& options) const;
  /// How far a table has to reach for distances up to `farthest`: beyond either end the score is that of the end.
  std::int64_t reach_for(std::int64_t farthest) const;

  /// Whether a table may be kept: not where a gradient must reach what is learned, or nobody counts its changes.
  bool can_be_kept() const;
  /// Differs wherever an optimiser or a loaded file has changed what is learned.
  std::int64_t version() const;
  /// Where the numbers are in memory.
  const void* place() const;

  /// Takes the scores of buckets of layer 0, where this layer is another and learns none. Errors: kArgument where layer
  /// 0 has others, naming `layer` and its mechanism.
  void share(const DistanceBiases* first, const MechanismSite& site, const MechanismSpec& spec);
  /// What it took.
  std::vector<at::Tensor> shared() const {
    return took_ ? std::vector<at::Tensor>{of_buckets_} : std::vector<at::Tensor>();
  }

 private:
  at::Tensor slopes_;  // [heads], for keys before the query
  at::Tensor behind_;  // for keys behind it: another tensor only where an encoder learns its slopes
  bool learned_ = false;
  std::optional<DistanceBuckets> buckets_;
  at::Tensor of_buckets_;  // [buckets, heads]
  bool causal_ = false;
  bool took_ = false;
};

/// A mechanism whose scores know distances by its site.
class DistanceBiased {
 protected:
  explicit DistanceBiased(DistanceBiases biases) : biases_(std::move(biases)) {}
  ~DistanceBiased() = default;

  /// For AttentionImpl::share().
  void share_distances(const AttentionImpl& own, const AttentionImpl& first) {
    const auto* const owner = dynamic_cast<const DistanceBiased*>(&first);
    biases_.share(owner != nullptr ? &owner->biases_ : nullptr, own.site(), own.spec());
  }

  DistanceBiases biases_;
};

/// `spec` with the names of what a layer at `site` learns of distances.
MechanismSpec with_learned_distances(MechanismSpec spec, const MechanismSite& site);

/// Which bucket each of `distances`, position of the query minus position of the key, is in: as released with T5. Half
/// of the buckets, or a quarter for each side where a key may be behind the query, are of one distance each; the others
/// grow by the logarithm up to `farthest`. int64 of the same shape.
at::Tensor distance_buckets(const at::Tensor& distances, const DistanceBuckets& buckets, bool causal);

}  // namespace weft::attention
