// SPDX-License-Identifier: Apache-2.0
// The attention of Transformer-XL (Dai et al. 2019): scores know how far a key is, and nothing knows where a text
// begins, so that a segment can go on behind the memory of those before it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/attention/mechanism.h"

namespace weft::attention {

/// `relative(left=N, reach=R, clamp=C, biases=layer|shared)`, all optional. `left`: no key farther back is seen
/// (same_length of the released programs with a memory of M is left = M - 1). `reach`, of encoders in place of left: no
/// key farther away is seen, on either side. `clamp`: keys farther than C are as if C away
/// (clamp_len). `biases=shared`: u and v are those of layer 0 in all layers (untie_r false). Errors: kExpression.
MechanismSpec parse_relative(const std::string& expression);

/// With the wave w(d) = [sin(d f_i), cos(d f_i)], f_i = 10000^(-2i / width), width = heads * head_dim, and R = W w
/// (section 3.3 and appendix B),
///   score_ij = ((q_i + u) . k_j + (q_i + v) . R(min(i - j, C))) / sqrt(D).
/// What it learns: `distances` W [width, width], `content_bias` u and `distance_bias` v [heads, head_dim], all drawn
/// from normal(0, 0.02) with LibTorch's default generator. In an encoder a later key has a negative distance. While
/// training, `position_dropout` of the site drops numbers of w, the same ones in all layers of a call.
class RelativeAttention : public AttentionImpl {
 public:
  RelativeAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;
  void share(AttentionImpl& first) override;
  std::vector<at::Tensor> shared_parameters() const override;

 private:
  /// The waves w of distances from `nearest` on, [count, width].
  at::Tensor waves(std::int64_t nearest, std::int64_t count) const;
  /// R of rows of waves, [H, count, D].
  at::Tensor projected(const at::Tensor& rows) const;
  /// R for distances from `nearest` on, kept from call to call where no gradient reaches W.
  at::Tensor table(std::int64_t nearest, std::int64_t count);
  /// The same as a call has it: with dropout where it is one of training, and nothing is kept.
  at::Tensor table_of_call(std::int64_t nearest, std::int64_t count, const AttentionContext& context);

  std::int64_t left_ = -1;
  std::int64_t reach_ = -1;
  std::int64_t clamp_ = -1;
  bool shares_ = false;
  at::Tensor distances_;
  at::Tensor content_bias_;
  at::Tensor distance_bias_;

  struct Kept;
  std::shared_ptr<Kept> kept_;  // of calls without gradients: a decoded token needs all of R
};

}  // namespace weft::attention
