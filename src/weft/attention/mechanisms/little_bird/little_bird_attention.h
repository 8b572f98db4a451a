// SPDX-License-Identifier: Apache-2.0
// LittleBird's attention of a text (Lee, Han and Shin 2022): each token sees its neighbourhood, the first block, and a
// few latents into which the layer has packed the whole text, with one softmax over all of them and learned slopes for
// distances.
#pragma once

#include <string>

#include "weft/attention/attention.h"
#include "weft/attention/mechanism.h"

namespace weft::attention {

/// `little_bird(block=64, latents=64)`, both optional. Errors: kExpression.
MechanismSpec parse_little_bird(const std::string& expression);

/// Unpack & sliding window attention with BiALiBi (section 3 of the paper), for a query at position i:
///   softmax([Q K_C^T / sqrt(D) - D_P | Q K_X^T / sqrt(D) - D]) [V_C ; V_X]
/// over all latents C and the tokens X of the blocks i div b - 1 to i div b + 1 and 0, b the block's size. D is 0 for
/// i = j, alpha where exactly one of the two is the first token, beta (i - j) for tokens before and gamma (j - i) for
/// tokens behind; D_P is b (beta + gamma) / 2. alpha, beta and gamma are learned, one of each for every head: beta and
/// gamma begin as the slopes of ALiBi, alpha at 0 (the paper does not say).
/// One call of the fused kernel: keys are tokens, then a gap that nobody sees and that is wider than the window, then
/// the latents, so that one distance table tells both kinds of keys apart. Time and memory grow with the length.
class LittleBirdAttention : public AttentionImpl {
 public:
  LittleBirdAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  /// query [B, H, N, D]; key and value [B, H_kv, latents + N, D], latents first. `context` describes the N tokens.
  /// Errors: kArgument where the latents are missing: a layer without them cannot attend like this.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;

 private:
  /// What is added to scores, for `tokens` of them, in the dtype of sums.
  DistanceTable distances(std::int64_t tokens, const at::Tensor& query) const;

  std::int64_t block_ = 0;
  std::int64_t latents_ = 0;
  at::Tensor alpha_;  // [heads] each
  at::Tensor beta_;
  at::Tensor gamma_;
};

}  // namespace weft::attention
