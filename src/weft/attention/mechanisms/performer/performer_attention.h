// SPDX-License-Identifier: Apache-2.0
// FAVOR+ (Choromanski et al. 2021): random features whose products are softmax attention on the average, so that time
// and memory grow with the length, in a decoder too.
#pragma once

#include <string>

#include "weft/attention/mechanisms/linear/feature_attention.h"

namespace weft::attention {

/// `performer(features=256, map=positive|trigonometric, orthogonal=yes|no, redraw=0, seed=N)`, all optional.
/// `features`: numbers r that stand for a query or a key; the error falls with their number. `seed`: of the random
/// rows; without it they come from LibTorch's default generator, as first weights do. `redraw`: training draws new ones
/// every so many steps; 0: never. Errors: kExpression.
MechanismSpec parse_performer(const std::string& expression);

/// With x' = x / D^(1/4) and random rows w_f ~ normal(0, I) (lemma 1 and equation 5), up to factors that cancel,
///   positive:       phi_f(k) = exp(w_f . k' - |k'|^2 / 2)
///   trigonometric:  phi_f(k) = exp(|k'|^2 / 2) [sin(w_f . k'), cos(w_f . k')]
/// and E[phi(q) . phi(k)] is proportional to exp(q . k / sqrt(D)). `orthogonal`: blocks of D rows are orthogonal, with
/// the norms of independent rows. The rows are `projection` [r, D], or [r / 2, D] of the trigonometric features: saved
/// with the model, one for all heads of a layer, and not trained.
class PerformerAttention : public FeatureAttention {
 public:
  PerformerAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  std::int64_t redraw_every() const override { return redraw_every_; }
  void redraw(std::uint64_t seed) override;

 protected:
  at::Tensor query_features(const at::Tensor& x) const override;
  KeyFeatures key_features(const at::Tensor& x) const override;
  at::Tensor denominators(const at::Tensor& sums) const override;

 private:
  /// w_f . x' [B, H, N, rows].
  at::Tensor projected(const at::Tensor& scaled) const;

  bool positive_ = true;
  bool orthogonal_ = true;
  std::int64_t redraw_every_ = 0;
  at::Tensor projection_;
};

}  // namespace weft::attention
