// SPDX-License-Identifier: Apache-2.0
// Random feature attention (Peng et al. 2021): sines and cosines of queries and keys of length 1, with scales that are
// learned, and gates that let a decoder forget.
#pragma once

#include <string>

#include "weft/attention/mechanisms/linear/feature_attention.h"

namespace weft::attention {

/// `rfa(features=128, gate=no|yes, denominator=one|small, scales=learned|fixed, redraw=0, seed=S)`, all optional.
/// `features`: an even number, half of them sines. `denominator`: the least one; the released program has 1 where it
/// sums key by key and 1e-3 where it masks pairs. `seed`: the random rows of layer l are drawn from S + l; without it
/// from LibTorch's default generator, as weights are. `redraw`: training draws new ones every so many steps; 0: never.
/// Errors: kExpression.
MechanismSpec parse_rfa(const std::string& expression);

/// See caution_of(): where gates and denominator=one come together, so that weights are not normalised.
std::string rfa_caution(const std::string& expression);

/// With x^ = x / (|x| + 1e-3), random rows w ~ normal(0, I) and learned scales s of each column (equations 2 and 3),
///   phi(x) = 0.1 [sin((s w) . x^), cos((s w) . x^)],  E[phi(q) . phi(k)] ~ exp(-|s (q^ - k^)|^2 / 2),
///   output_i = phi(q_i) S_i / max(d_i, least),  d_i = phi(q_i) . z_i, or its size: see denominators(),
/// S and z as FeatureAttention has them. With `gate` (equation 7, decoders only) they forget, g_j = sigmoid(w_g . k_j +
/// b): the gate reads the key of its head, the layer's projection of the input, where the paper has a projection of its
/// own. Learned: `scales` [heads, D], ones; `gate` [heads, D], zeros; `gate_level` [heads], 3 (g = 0.95). Drawn once
/// and saved: `projection` [heads, features / 2, D]. Fewer key heads than query heads are repeated.
class RfaAttention : public FeatureAttention {
 public:
  RfaAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  std::int64_t redraw_every() const override { return redraw_every_; }
  void redraw(std::uint64_t seed) override;

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;
  at::Tensor step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const AttentionContext& context, AttentionState& state) override;

 protected:
  at::Tensor query_features(const at::Tensor& x) const override;
  KeyFeatures key_features(const at::Tensor& x) const override;
  at::Tensor denominators(const at::Tensor& sums) const override;
  at::Tensor log_gates(const at::Tensor& key) const override;

 private:
  at::Tensor features(const at::Tensor& x) const;
  /// [B, H_kv, N, C] -> [B, heads, N, C].
  at::Tensor of_all_heads(const at::Tensor& tensor) const;

  double least_denominator_ = 1.0;
  bool counts_by_size_ = false;
  std::int64_t redraw_every_ = 0;
  at::Tensor projection_;
  at::Tensor scales_;  // undefined: ones
  at::Tensor gate_;    // undefined: sums do not forget
  at::Tensor gate_level_;
};

}  // namespace weft::attention
