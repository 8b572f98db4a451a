// SPDX-License-Identifier: Apache-2.0
// Nystromformer (Xiong et al. 2021): the matrix of all pairs through a few landmarks, means of stretches of the text,
// so that time and memory grow with the length.
#pragma once

#include <string>

#include "weft/attention/mechanism.h"

namespace weft::attention {

/// `nystrom(landmarks=64, init=exact|text|released, iterations=6, conv=65)`, all optional. `landmarks=0`: every pair,
/// in place of landmarks. `init`: what the first guess of the inverse is divided by: the largest column sum of each
/// head of each row (`exact`), of all heads of each row (`text`: what released programs compute for a text alone), or
/// of the whole batch (`released`: rows of a batch change each other's last digits). `conv`: rows of the convolution
/// over the values, an odd number; 0: none. Errors: kExpression.
MechanismSpec parse_nystrom(const std::string& expression);

/// What the first guess of the inverse is divided by: one number for each head, each text, or the whole call.
enum class InverseGuess { kHead, kText, kBatch };

/// With Q and K divided by D^(1/4), landmarks Q~ and K~ the means of l stretches of the kept tokens (section 3.2),
///   output = softmax(Q K~^T) Z softmax(Q~ K^T) V + conv(V),  Z ~ pinv(softmax(Q~ K~^T)),
/// Z after `iterations` of equation 11. A text of at most l tokens is its own landmarks: softmax(Q K^T) V + conv(V).
/// Stretches are as even as they can be, over the tokens of each row of the batch, so that neither padding nor other
/// rows change a result. With landmarks=0 it is softmax(Q K^T) V + conv(V) at any length: what transformers computes
/// for a config of Nystromformer whose segment_means_seq_len is its num_landmarks, as the released ones say. What it
/// learns: `convolution` [heads, conv], drawn from normal(0, 0.02). Sums are in float32 (float64 for float64). Dropout
/// does nothing: no probability of a pair is ever there.
class NystromAttention : public AttentionImpl {
 public:
  NystromAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;

 private:
  // All [B, heads, N, D], keep bool [B, N] or undefined; without the convolution. The first takes as many queries as
  // one likes, of any dtype.
  at::Tensor softmax_of_pairs(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                              const at::Tensor& keep) const;
  /// In the dtype of sums, N above the number of landmarks.
  at::Tensor through_landmarks(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                               const at::Tensor& keep) const;
  /// softmax(Q~ K~^T) [B, H, l, l] -> Z; zeros stay zeros.
  at::Tensor inverse(const at::Tensor& matrix) const;

  std::int64_t landmarks_ = 0;
  std::int64_t iterations_ = 0;
  InverseGuess guess_ = InverseGuess::kHead;
  at::Tensor convolution_;
};

}  // namespace weft::attention
