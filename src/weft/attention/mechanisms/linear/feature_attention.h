// SPDX-License-Identifier: Apache-2.0
// What all mechanisms with features in place of the softmax share: a mechanism says what its features are, and padding,
// the past alone, decoding and numbers that are not finite are here.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/attention/mechanism.h"

namespace weft::attention {

/// A call in the shape of its sums: G query heads share a key head.
struct FeatureParts {
  at::Tensor query;  ///< phi(q) [B, H_kv, G, Q, r]
  at::Tensor key;    ///< phi(k) [B, H_kv, 1, K, r], zeros where padded
  at::Tensor value;  ///< v and a column of ones, whose sums are the denominators [B, H_kv, 1, K, D_v + 1]
  /// log g [B, H_kv, 1, K], 0 where padded: a key leaves the part g of the sums before it. Undefined: all of them.
  at::Tensor log_gates = {};
  /// [B, H_kv, 1, 1 + K]: logarithms of what sums are divided by, before the first key and behind each. Undefined: 0.
  at::Tensor levels = {};
};

/// What a mechanism makes of keys: phi(k) = exp(levels) features, so that neither leaves the range of the dtype.
struct KeyFeatures {
  at::Tensor features;     ///< [B, H, N, r]
  at::Tensor levels = {};  ///< [B, H, N], without gradients: constants, for all that the features know. Undefined: 0.
};

/// output_i = phi(q_i) S / d(phi(q_i) . z), S = sum_j phi(k_j) v_j^T, z = sum_j phi(k_j), over all keys j or, where the
/// site is causal, over those up to i. Where features have levels, S and z are those divided by exp(the largest level
/// of the keys that they sum): it cancels, and of a causal row no later key is among them. A number that is not finite
/// reaches rows that see it, and no others. Features and sums are in float32 (float64 for float64), under autocast too.
/// There are no probabilities, so that dropout on them does nothing. Time and memory are proportional to the length.
class FeatureAttention : public AttentionImpl {
 public:
  using AttentionImpl::AttentionImpl;

  /// Steps of training between two draws of its random rows; 0: they are drawn once (redrawn_features.h).
  virtual std::int64_t redraw_every() const { return 0; }
  /// Draws them from a seed of their own.
  virtual void redraw(std::uint64_t /*seed*/) {}

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;
  /// A state of constant size, whatever came before: S and z as columns of one sum (RunningSums).
  std::unique_ptr<AttentionState> initial_state() const override;
  at::Tensor step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const AttentionContext& context, AttentionState& state) override;

 protected:
  /// x [B, H, N, D] in float32 or float64 -> [B, H, N, r]. A row decides about its own features alone. A factor that a
  /// query's features have in common cancels; one of a key's features does not.
  virtual at::Tensor query_features(const at::Tensor& x) const = 0;
  virtual KeyFeatures key_features(const at::Tensor& x) const = 0;
  /// d: what a numerator is divided by, of phi(q_i) . z. Zeros, those of a row without keys, give no zeros.
  virtual at::Tensor denominators(const at::Tensor& sums) const = 0;
  /// key [B, H_kv, K, D] in float32 or float64 -> log g [B, H_kv, K] for sums that forget, of a mechanism whose sites
  /// are all causal: S_j = g_j S_(j-1) + (1 - g_j) phi(k_j) v_j^T, and z likewise. Undefined: sums that do not.
  virtual at::Tensor log_gates(const at::Tensor& /*key*/) const { return {}; }

 private:
  /// `before` [B, H_kv, 1, 1]: the level of the sums before the first key; undefined: there are none.
  FeatureParts parts_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& keep,
                        const at::Tensor& before = {}) const;
  at::Tensor quotient_of(const at::Tensor& mixed, at::ScalarType type, const at::Tensor& keep) const;
};

}  // namespace weft::attention
