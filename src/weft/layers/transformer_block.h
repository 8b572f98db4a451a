// SPDX-License-Identifier: Apache-2.0
// One transformer block: sublayers around a residual connection, each with dropout and a layer norm before or after.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/attention/cross_attention.h"
#include "weft/layers/attention/self_attention.h"
#include "weft/layers/block_config.h"
#include "weft/layers/feed_forward.h"
#include "weft/layers/layer_norm.h"
#include "weft/layers/memory/compressor.h"

namespace weft::layers {

/// Self-attention, cross-attention where the config has it, feed-forward. Pre-norm: x + f(norm(x)) for each of them in
/// turn (Xiong et al. 2020). Post-norm: norm(x + f(x)) (Vaswani et al. 2017).
///
/// Where the mechanism has latents (LittleBird, Lee, Han and Shin 2022), x is P [B, latents, hidden] in front of the
/// text X, and the block packs the text before it attends to the text and to what it packed; with post-norm
///   C = pack(P, X),  P' = norm(P + C),  A = norm(X + attention(X, [C ; X])),  X' = norm(A + feed_forward(A)).
/// With pre-norm, X and P go through their norms in front of both attentions.
///
/// Where it has global rows (ETC, Ainslie et al. 2020), x is G [B, G, hidden], tokens beside the text, in front of X.
/// Both have an output projection and a norm of attention of their own, and share all else; with post-norm
///   [A_G ; A_X] = attention(G, X),  A = [norm_G(G + A_G) ; norm(X + A_X)],  [G' ; X'] = norm(A + feed_forward(A)).
class TransformerBlockImpl : public torch::nn::Module {
 public:
  TransformerBlockImpl(const BlockConfig& config, const at::TensorOptions& options);
  /// [B, N, hidden] -> [B, N, hidden]. The residual stream keeps the parameters' dtype under autocast.
  at::Tensor forward(const at::Tensor& x, const BlockContext& context);
  /// What a pre-norm block of two sublayers adds, for residual connections of another kind (reversible.h):
  /// dropout(f(norm(x))), [B, N, hidden] -> [B, N, hidden].
  at::Tensor attention_branch(const at::Tensor& x, const BlockContext& context);
  at::Tensor feed_forward_branch(const at::Tensor& x, const BlockContext& context);

  /// reconstruction_loss() of the rows `old` [B, n, hidden], inputs of this block, that became `fresh`; `x` [B, N,
  /// hidden] are the inputs that read from them.
  at::Tensor compression_loss(const at::Tensor& x, const at::Tensor& old, const at::Tensor& fresh);
  /// Takes keys and values of rows [B, M, hidden] of a memory into `state`.
  void remember(const at::Tensor& rows, attention::AttentionState& state);

  SelfAttention attention{nullptr};
  LayerNorm attention_norm{nullptr};
  CrossAttention cross_attention{nullptr};
  LayerNorm cross_attention_norm{nullptr};
  FeedForward feed_forward{nullptr};
  LayerNorm feed_forward_norm{nullptr};
  Compressor compressor{nullptr};  ///< where the config has one
  CrossAttention pack{nullptr};    ///< of latents to the text, where there are any
  LayerNorm pack_norm{nullptr};
  LayerNorm global_attention_norm{nullptr};  ///< of tokens beside the text, where there are any

 private:
  /// One sublayer: its norm, the residual connection and the dropout of number `site` (see dropout_seed).
  struct Sublayer {
    LayerNorm& norm;
    std::int64_t site;
  };
  template <typename Function>
  at::Tensor branch(const at::Tensor& x, Sublayer sublayer, std::uint64_t seed, Function&& function) const;
  template <typename Function>
  at::Tensor residual(const at::Tensor& x, Sublayer sublayer, std::uint64_t seed, Function&& function) const;

  /// forward() with latents in front of the text.
  at::Tensor forward_packed(const at::Tensor& x, const BlockContext& context);
  /// forward() with rows of tokens beside the text in front of it.
  at::Tensor forward_global(const at::Tensor& x, const BlockContext& context);
  /// What attention sees of the memory, [B, M, hidden]; undefined without one.
  at::Tensor memory_rows(const BlockContext& context);

  std::int64_t layer_;
  bool norm_first_;
  double dropout_;
  double norm_eps_;
};
TORCH_MODULE(TransformerBlock);

}  // namespace weft::layers
