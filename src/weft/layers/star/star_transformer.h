// SPDX-License-Identifier: Apache-2.0
// Star-Transformer (Guo et al. 2019, "Star-Transformer", algorithm 1; constants as in fastNLP): satellites, one a
// token, and a relay that all of them see. A layer changes the satellites first, then the relay. Time and memory grow
// with the length. Attention along the same graph inside of transformer blocks is the pattern `star`.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/layer_norm.h"
#include "weft/layers/linear.h"

namespace weft::layers {

struct StarConfig {
  std::int64_t hidden_size = 300;
  std::int64_t heads = 6;
  std::int64_t head_dim = 50;  ///< the heads need not fill the width
  std::int64_t layers = 2;
  double layer_norm_eps = 1e-6;
};

/// Satellites [B, N, hidden] and the relay [B, hidden].
struct StarNodes {
  at::Tensor satellites;
  at::Tensor relay;
};

/// Multi-head attention of each query to a few keys of its own: the projections, shared by all that it sees.
class StarAttentionImpl : public torch::nn::Module {
 public:
  StarAttentionImpl(const StarConfig& config, const at::TensorOptions& options);

  Linear query{nullptr};      ///< hidden -> H D
  Linear key_value{nullptr};  ///< hidden -> 2 H D, keys first
  Linear output{nullptr};     ///< H D -> hidden
};
TORCH_MODULE(StarAttention);

/// With e the embeddings, s the relay and x_i = norm(h_i),
///   h_i = leaky_relu(ring(x_i; x_(i-1), x_i, x_(i+1), e_i, s)),  s = leaky_relu(relay(s; s, h_1 .. h_n)),
/// where f(q; k_1 ..) is multi-head attention of q over k_1 .., with biases. There is neither residual nor
/// feed-forward. Before the first token and behind the last one stand a key and a value of zeros, which take their
/// share of a softmax.
class StarLayerImpl : public torch::nn::Module {
 public:
  StarLayerImpl(const StarConfig& config, const at::TensorOptions& options);
  /// embeddings [B, N, hidden]; hidden_rows: bool [B, N], true at padding, or undefined. Satellites at padding are
  /// zeros and nobody sees them; a token beside padding is one at an end.
  StarNodes forward(const StarNodes& nodes, const at::Tensor& embeddings, const at::Tensor& hidden_rows);
  /// Its two halves: the satellites [B, N, hidden] behind `nodes`, and the relay [B, hidden] behind these satellites
  /// and the relay before.
  at::Tensor next_satellites(const StarNodes& nodes, const at::Tensor& embeddings, const at::Tensor& hidden_rows);
  at::Tensor next_relay(const StarNodes& nodes, const at::Tensor& hidden_rows);

  LayerNorm norm{nullptr};
  StarAttention ring{nullptr};
  StarAttention relay{nullptr};

 private:
  std::int64_t heads_;
};
TORCH_MODULE(StarLayer);

/// The layers, one after the other. Satellites begin as the embeddings, the relay as their mean over the tokens of its
/// row; rows of a batch are what they are alone, whatever padding holds, where fastNLP's mean counts padding and its
/// last token sees the padding behind it. Word and position embeddings and their dropout are the caller's.
class StarTransformerImpl : public torch::nn::Module {
 public:
  /// Storage only. Errors: kArgument for sizes below 1.
  StarTransformerImpl(const StarConfig& config, const at::TensorOptions& options);
  /// embeddings [B, N, hidden], N at least 1; keep: bool [B, N], false at padding, or undefined. `recompute`: layers
  /// keep their nodes alone and run again in the backward pass (Chen et al. 2016). Errors: kArgument for other shapes
  /// and dtypes.
  StarNodes forward(const at::Tensor& embeddings, const at::Tensor& keep = {}, bool recompute = false);

 private:
  std::int64_t width_;
  std::vector<StarLayer> layers_;
};
TORCH_MODULE(StarTransformer);

}  // namespace weft::layers
