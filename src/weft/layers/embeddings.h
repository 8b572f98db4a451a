// SPDX-License-Identifier: Apache-2.0
// From token ids to the first hidden states: token embedding, learned or sinusoidal positions, and in post-norm models
// a layer norm.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/layer_norm.h"

namespace weft::layers {

/// How a token's place enters the hidden states.
enum class PositionKind {
  kNone,        ///< nothing is added here: rotary positions act in the attention
  kLearned,     ///< a table of max_position_embeddings rows (Devlin et al. 2019)
  kSinusoidal,  ///< fixed waves; token embeddings are multiplied by sqrt(hidden) (Vaswani et al. 2017, sections 3.4
                ///< and 3.5)
};

/// Shape of the tables and what is added to a token; validated by the model's config.
struct EmbeddingsConfig {
  std::int64_t vocab_size = 256;
  std::int64_t hidden_size = 256;
  std::int64_t maximum_length = 4096;
  PositionKind positions = PositionKind::kNone;
  bool with_norm = false;
  double layer_norm_eps = 1e-5;
  double dropout = 0.0;
};

/// x = dropout(norm(E[id] + P[position])); the norm in post-norm models only.
class EmbeddingsImpl : public torch::nn::Module {
 public:
  EmbeddingsImpl(const EmbeddingsConfig& config, const at::TensorOptions& options);
  /// ids int64 [B, N] at positions first_position .. -> [B, N, hidden]. `seed` is the call's, for dropout.
  at::Tensor forward(const at::Tensor& ids, std::int64_t first_position, std::uint64_t seed);

  at::Tensor tokens;     ///< [vocab, hidden]
  at::Tensor positions;  ///< [maximum_length, hidden] when learned
  LayerNorm norm{nullptr};

 private:
  EmbeddingsConfig config_;
};
TORCH_MODULE(Embeddings);

/// PE(p, 2i) = sin(p / 10000^(2i / hidden)), PE(p, 2i + 1) = cos of the same (Vaswani et al. 2017, section 3.5),
/// [count, hidden] for positions from `first` on.
at::Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t hidden,
                                const at::TensorOptions& options);

}  // namespace weft::layers
