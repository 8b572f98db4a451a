// SPDX-License-Identifier: Apache-2.0
// Token and position embeddings.
#include "weft/layers/embeddings.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>

#include <cmath>

#include "weft/layers/dropout.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kDropoutLayer = -1;  // the embeddings stand before layer 0

}  // namespace

at::Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t hidden,
                                const at::TensorOptions& options) {
  const at::TensorOptions exact = at::TensorOptions(at::kCPU).dtype(at::kDouble);
  const at::Tensor exponents = at::arange(0, hidden, 2, exact) / -static_cast<double>(hidden);
  const at::Tensor angles = at::outer(at::arange(first, first + count, exact), at::pow(10000.0, exponents));
  // Sine and cosine take turns along the last dimension; an odd width leaves out the last cosine.
  return at::stack({angles.sin(), angles.cos()}, 2).flatten(1).narrow(1, 0, hidden).to(options);
}

EmbeddingsImpl::EmbeddingsImpl(const EmbeddingsConfig& config, const at::TensorOptions& options)
    : tokens(register_parameter("tokens", at::empty({config.vocab_size, config.hidden_size}, options))),
      config_(config) {
  if (config.positions == PositionKind::kLearned) {
    positions = register_parameter("positions", at::empty({config.maximum_length, config.hidden_size}, options));
  }
  if (config.with_norm) {
    norm = register_module("norm", LayerNorm(config.hidden_size, config.layer_norm_eps, options));
  }
}

at::Tensor EmbeddingsImpl::forward(const at::Tensor& ids, std::int64_t first_position, std::uint64_t seed) {
  at::Tensor hidden = at::embedding(tokens, ids);
  if (config_.positions == PositionKind::kLearned) {
    hidden = hidden + positions.narrow(0, first_position, ids.size(1));
  } else if (config_.positions == PositionKind::kSinusoidal) {
    // Embeddings are drawn small and waves have amplitude 1: the factor brings them nearer to each other.
    const double scale = std::sqrt(static_cast<double>(config_.hidden_size));
    hidden = hidden * scale + sinusoidal_positions(first_position, ids.size(1), config_.hidden_size, tokens.options());
  }
  if (norm) {
    hidden = norm(hidden);
  }
  return is_training() ? seeded_dropout(hidden, config_.dropout, dropout_seed(seed, kDropoutLayer, 1)) : hidden;
}

}  // namespace weft::layers
