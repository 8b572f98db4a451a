// SPDX-License-Identifier: Apache-2.0
// Attention that learns how far back each head looks (Sukhbaatar et al. 2019). Keys beyond a head's span are no edges,
// so that the cost of a call follows what was learned.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/attention/attention.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/distance_biases.h"

namespace weft::attention {

/// `span(max=L, ramp=R, init=Z, positions=no|shared)`: no span exceeds L tokens, a head's sight ends in a ramp of R
/// tokens (32), spans begin at Z tokens (0); `shared`: scores know distances. `span(max=L, reaches=A/B/...,
/// positions=shared)`: spans that no longer learn, of which head h sees the keys at most so many tokens away. Errors:
/// kExpression.
MechanismSpec parse_span(const std::string& expression);

/// The second form for spans whose heads see as far as `lefts` say.
std::string fixed_spans(const std::vector<std::int64_t>& lefts, std::int64_t longest);

/// A pattern in which head h sees the keys at most lefts[h] tokens away: before it where `causal`, else on both sides.
std::string window_of_heads(const std::vector<std::int64_t>& lefts, bool causal);

/// With the distance d = |i - j| (a token is 0 away from itself) and the span z of the head, in tokens,
///   m(d) = clamp((z + R - d) / R, 0, 1),   weights_ij ~ m(d) exp(q_i k_j / sqrt(D))   (equations 4 and 5),
/// over d < L: scores get log m, and where m is 0 there is no edge. With ALiBi its slopes are added, published or
/// learned. It learns `spans` z / L [heads], float, in [0, 1]; numbers outside count as the nearest inside. The
/// gradient of z is that of m within the ramp, 0 < m < 1, and 0 at its ends. With positions=shared scores are q_i (k_j
/// + p_d) / sqrt(D), and layer 0 learns `positions` p [L, D] for all heads of all layers, drawn from normal(0, 1) as
/// released.
class SpanAttention : public AttentionImpl, public DistanceBiased {
 public:
  SpanAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;
  /// Keys and values of the tokens that some head still sees. Spans must not grow while a state is in use.
  std::unique_ptr<AttentionState> initial_state() const override;
  void share(AttentionImpl& first) override;
  std::vector<at::Tensor> shared_parameters() const override;

  /// Whether its heads learn how far they see, and do not have fixed reaches.
  bool learns_spans() const noexcept { return reaches_.empty(); }
  /// z of each head in tokens, float64 [heads]; differentiable. Where spans are learned.
  at::Tensor spans() const;
  /// The largest distance that each head sees with m above `least`, in [0, 1); a fixed reach is what it is. Errors:
  /// kNumeric where a span is NaN.
  std::vector<std::int64_t> reach(double least = 0.0) const;
  /// L.
  std::int64_t longest() const noexcept { return longest_; }
  /// R.
  std::int64_t ramp() const noexcept { return ramp_; }
  /// Whether scores know distances beyond the mask.
  bool has_positions() const noexcept { return shares_; }
  /// Puts the spans back into [0, 1], where an optimiser moved them out.
  void constrain();

 private:
  struct Kept;
  /// log m for distances below `length` and the layouts' pattern.
  Kept computed(std::int64_t length) const;
  Kept kept_for(std::int64_t length);
  /// The call with p, through the products of `relative`.
  at::Tensor with_positions(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const AttentionContext& context, const Kept& spans) const;

  std::int64_t longest_ = 0;
  std::int64_t ramp_ = 0;
  bool shares_ = false;
  std::vector<std::int64_t> reaches_;  // of spans that are fixed
  at::Tensor spans_;                   // of those that are learned
  at::Tensor positions_;               // of layer 0 in all layers; undefined without
  std::mutex mutex_;
  std::shared_ptr<Kept> kept_;  // of calls without gradients: a decoded token costs its edges and not a table
};

}  // namespace weft::attention
