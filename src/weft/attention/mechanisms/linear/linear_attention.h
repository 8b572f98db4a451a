// SPDX-License-Identifier: Apache-2.0
// Linear attention (Katharopoulos et al. 2020): sums over keys instead of scores of pairs, so that time and memory grow
// with the length and a decoder carries a state of constant size.
#pragma once

#include <string>

#include "weft/attention/mechanisms/linear/feature_attention.h"

namespace weft::attention {

/// `linear`, which has no settings. Errors: kExpression for anything behind the name.
MechanismSpec parse_linear(const std::string& expression);

/// FeatureAttention with phi(x) = elu(x) + 1, no scale, and d(s) = s + 1e-6 (equations 5, 7 and 12).
class LinearAttention : public FeatureAttention {
 public:
  using FeatureAttention::FeatureAttention;

 protected:
  at::Tensor query_features(const at::Tensor& x) const override;
  at::Tensor key_features(const at::Tensor& x) const override;
  at::Tensor denominators(const at::Tensor& sums) const override;
};

}  // namespace weft::attention
