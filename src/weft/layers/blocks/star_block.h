// SPDX-License-Identifier: Apache-2.0
// A layer of the Star-Transformer (Guo et al. 2019, "Star-Transformer", algorithm 1; constants as in fastNLP):
// satellites, one a token, and a relay that all of them see. A layer changes the satellites first, then the relay. Time
// and memory grow with the length. Attention along the same graph inside of transformer blocks is the pattern `star`.
#pragma once

#include <string>

#include "weft/layers/blocks/block.h"
#include "weft/layers/linear.h"
#include "weft/layers/norm.h"

namespace weft::layers {

/// Multi-head attention of each query to a few keys: the projections, shared by all that it sees.
class StarAttentionImpl : public torch::nn::Module {
 public:
  StarAttentionImpl(const BlockConfig& config, const at::TensorOptions& options);

  Linear query{nullptr};      ///< hidden -> H D; the heads need not fill the width
  Linear key_value{nullptr};  ///< hidden -> 2 H D, keys first
  Linear output{nullptr};     ///< H D -> hidden
};
TORCH_MODULE(StarAttention);

/// The satellites are the text, the relay is its one companion. With e the embeddings, s the relay and x_i = norm(h_i),
///   h_i = leaky_relu(ring(x_i; x_(i-1), x_i, x_(i+1), e_i, s)),  s = leaky_relu(relay(s; s, h_1 .. h_n)),
/// where f(q; k_1 ..) is multi-head attention of q over k_1 .., with biases. There is neither residual nor
/// feed-forward. Before the first token and behind the last one there are a key and a value of zeros, which take their
/// share of a softmax. Satellites at padding are zeros and nobody sees them; a token next to padding is one at an end.
///
/// In a stack satellites begin as the embeddings, the relay as their mean over the tokens of its row; rows of a batch
/// are what they are alone, whatever padding holds, where fastNLP's mean counts padding and its last token sees the
/// padding behind it. Word and position embeddings and their dropout are those of the stack.
class StarBlockImpl : public BlockImpl {
 public:
  /// Width, heads, columns of a head and the norm are looked at. Storage only. Errors: kArgument for sizes below 1.
  StarBlockImpl(const BlockConfig& config, const at::TensorOptions& options);

  /// Behind companions() of block 0, which prepares the context. Errors: kArgument for another context.
  Rows forward(const Rows& x, const BlockContext& context) override;
  /// In two parts that run again, so that a relay that nobody reads learns nothing, as without.
  Rows recomputed(const Rows& x, const BlockContext& context) override;
  std::string description() const override { return "ring and relay"; }
  /// The relay is a result. Errors of a call: kArgument for embeddings and padding of other shapes and dtypes.
  CompanionFactory companions() const override;

  Norm norm{nullptr};
  StarAttention ring{nullptr};
  StarAttention relay{nullptr};

 private:
  /// The satellites [B, N, hidden] behind `nodes`, and the relay [B, 1, hidden] behind these satellites and the relay
  /// before. embeddings [B, N, hidden]; padding: bool [B, N], true at padding, or undefined.
  at::Tensor next_satellites(const Rows& nodes, const at::Tensor& embeddings, const at::Tensor& padding);
  at::Tensor next_relay(const Rows& nodes, const at::Tensor& padding);

  std::int64_t heads_;
};

/// For BlockConfig::make.
BlockFactory star_block();

}  // namespace weft::layers
