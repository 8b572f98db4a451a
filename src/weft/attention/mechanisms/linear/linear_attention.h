// SPDX-License-Identifier: Apache-2.0
// Linear attention (Katharopoulos et al. 2020): sums over keys instead of scores of pairs, so that time and memory grow
// with the length and a decoder carries a state of constant size.
#pragma once

#include <string>

#include "weft/attention/mechanisms/linear/feature_attention.h"

namespace weft::attention {

/// `linear(map=elu|relu|square|dpfp)`, the map optional. Errors: kExpression.
MechanismSpec parse_linear(const std::string& expression);

/// FeatureAttention with d(s) = s + 1e-6, no scale, and the features phi(x) of
///   elu     elu(x) + 1 (Katharopoulos et al. 2020, equations 5, 7 and 12)
///   relu    max(x, 0) (Choromanski et al. 2021, section 4.3; no epsilon is added to the features)
///   square  max(x, 0)^2
///   dpfp    r_i r_(i-1) of r = [max(x, 0), max(-x, 0)], 2 D features, r_(-1) the last (Schlag, Irie and Schmidhuber
///           2021, equation 37 with nu = 1).
class LinearAttention : public FeatureAttention {
 public:
  LinearAttention(MechanismSpec spec, const MechanismSite& site);

 protected:
  at::Tensor query_features(const at::Tensor& x) const override;
  KeyFeatures key_features(const at::Tensor& x) const override;
  at::Tensor denominators(const at::Tensor& sums) const override;

 private:
  at::Tensor (*map_)(const at::Tensor& x) = nullptr;
};

}  // namespace weft::attention
