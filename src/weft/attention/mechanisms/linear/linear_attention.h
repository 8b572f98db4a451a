// SPDX-License-Identifier: Apache-2.0
// Linear attention (Katharopoulos et al. 2020): sums over keys instead of scores of pairs, so that time and memory grow
// with the length and a decoder carries a state of constant size.
#pragma once

#include "weft/attention/mechanism.h"

namespace weft::attention {

/// `linear`, which has no settings. Errors: kExpression for anything behind the name.
MechanismSpec parse_linear(const std::string& expression);

/// With phi(x) = elu(x) + 1 and no scale (equations 5, 7 and 12),
///   output_i = phi(q_i) S / (phi(q_i) . z + 1e-6),  S = sum_j phi(k_j) v_j^T,  z = sum_j phi(k_j),
/// over all keys j or, where the site is causal, over those up to i. Sums are in float32 (float64 for float64). There
/// are no probabilities, so that dropout on them does nothing.
class LinearAttention : public AttentionImpl {
 public:
  LinearAttention(MechanismSpec spec, const MechanismSite& site);

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;
  /// A state of constant size, whatever came before: S and z as columns of one sum (RunningSums).
  std::unique_ptr<AttentionState> initial_state() const override;
  at::Tensor step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const AttentionContext& context, AttentionState& state) override;
};

}  // namespace weft::attention
