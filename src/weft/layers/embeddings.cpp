// SPDX-License-Identifier: Apache-2.0
// The tables, and the two ways of counting positions.
#include "weft/layers/embeddings.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

#include "weft/attention/accumulation.h"
#include "weft/attention/sinusoids.h"
#include "weft/layers/dropout.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kDropoutLayer = -1;  // the embeddings come before layer 0

/// Rows of the token `id` as zeros, and the others as dropout makes them: by the share of a text that was left when the
/// model was trained, over that which is left of this one.
at::Tensor without_masked(const at::Tensor& rows, const EmbeddingsInput& input, std::int64_t id) {
  constexpr double kLeftInTraining = 1 - 0.15 * 0.8;
  constexpr double kLeast = 1e-6;  // where nothing is left, the rows are 0 in any case
  const at::Tensor masked = input.ids.eq(id);
  const at::ScalarType exact = attention::accumulation_type(rows);
  const at::Tensor lengths =
      input.keep.defined() ? input.keep.sum(1).clamp_min(1) : at::full_like(masked.sum(1), rows.size(1));
  const at::Tensor left = masked.sum(1).to(exact).div(lengths).neg().add(1).clamp_min(kLeast);
  const at::Tensor scaled =
      rows.masked_fill(masked.unsqueeze(2), 0.0).to(exact) * kLeftInTraining / left.view({-1, 1, 1});
  return scaled.to(rows.scalar_type());
}

}  // namespace

at::Tensor positions_without_padding(const at::Tensor& ids, std::int64_t padding_id, std::int64_t before) {
  const at::Tensor real = ids.ne(padding_id);
  return real.cumsum(1).add(before).mul(real).add(padding_id);
}

at::Tensor counted_waves(const at::Tensor& positions, std::int64_t padding_id, std::int64_t width,
                         const at::TensorOptions& options) {
  const std::int64_t half = width / 2;
  const double step = std::log(10000.0) / static_cast<double>(half - 1);
  const at::TensorOptions exact = options.dtype(at::kFloat);
  const at::Tensor angles = positions.to(at::kFloat).unsqueeze(-1) * (at::arange(half, exact) * -step).exp();
  const at::Tensor waves = at::cat({angles.sin(), angles.cos(), at::zeros_like(angles).narrow(-1, 0, width % 2)}, -1);
  return waves.mul_(positions.ne(padding_id).unsqueeze(-1)).to(options);
}

EmbeddingsImpl::EmbeddingsImpl(const EmbeddingsConfig& config, const at::TensorOptions& options)
    : config_(config), dtype_(c10::typeMetaToScalarType(options.dtype())) {
  if (config.adaptive) {
    clusters = register_module("tokens", AdaptiveEmbeddings(*config.adaptive, options));
  } else if (!config.shares_tokens) {
    tokens = register_parameter("tokens", at::empty({config.vocab_size, config.hidden_size}, options));
  }
  if (config.positions == PositionKind::kLearned) {
    positions = register_parameter(
        "positions", at::empty({config.position_offset + config.maximum_length, config.hidden_size}, options));
  }
  if (config.positions == PositionKind::kAxial) {
    axial = register_module("axial", AxialPositions(config.axial, options));
  }
  if (config.positions == PositionKind::kPicture || config.positions == PositionKind::kStride) {
    const char* const name = config.positions == PositionKind::kPicture ? "picture_positions" : "stride_positions";
    grid = register_module(name, GridPositions(config.grid, config.hidden_size, options));
  }
  if (config.token_types > 0) {
    token_types = register_parameter("token_types", at::empty({config.token_types, config.hidden_size}, options));
  }
  if (config.norm) {
    norm = register_module("norm",
                           Norm(config.projects_first ? config.width() : config.hidden_size, *config.norm, options));
  }
  if (config.width() != config.hidden_size) {
    project = register_module("project", Linear(config.hidden_size, config.width(), !config.projects_first, options));
  }
}

void EmbeddingsImpl::keep_int8(std::shared_ptr<const Int8Weight> weight) {
  int8_tokens_ = std::move(weight);
  tokens = at::Tensor();
  parameters_.erase("tokens");
}

at::Tensor EmbeddingsImpl::with_positions(const at::Tensor& hidden, const EmbeddingsInput& input) {
  const std::int64_t length = input.ids.size(1);
  if (config_.positions == PositionKind::kLearned && config_.skip_padding) {
    return hidden +
           at::embedding(positions, positions_without_padding(input.ids, config_.padding_id), config_.padding_id);
  }
  if (config_.positions == PositionKind::kLearned) {
    return hidden + positions.narrow(0, config_.position_offset + input.first_position, length);
  }
  if (config_.positions == PositionKind::kAxial) {
    return hidden + axial(input.first_position, length);
  }
  if (grid) {
    return hidden + grid->forward(input.first_position, length);
  }
  if (config_.positions == PositionKind::kNone) {
    return hidden;
  }
  if (config_.positions == PositionKind::kCountedWaves) {
    const at::Tensor counted = positions_without_padding(input.ids, config_.padding_id, input.first_position);
    return hidden + counted_waves(counted, config_.padding_id, config_.hidden_size, hidden.options());
  }
  return hidden + attention::sinusoidal_positions(input.first_position, length, config_.hidden_size, hidden.options(),
                                                  config_.positions == PositionKind::kSinusoidalHalves);
}

at::Tensor EmbeddingsImpl::rows_of(const EmbeddingsInput& input) {
  const TokenTable& rows = config_.shares_tokens ? input.shared_tokens : table();
  at::Tensor hidden = clusters    ? clusters(input.ids)
                      : rows.int8 ? rows.int8->rows(input.ids, dtype_)
                                  : at::embedding(rows.numbers, input.ids, config_.padding_id);
  if (config_.token_scale != 1.0) {
    hidden = hidden * config_.token_scale;
  }
  if (config_.masked_id >= 0) {
    hidden = without_masked(hidden, input, config_.masked_id);
  }
  if (token_types.defined()) {
    // Without types every token is of type 0: one row for all.
    hidden = hidden + (input.token_types.defined() ? at::embedding(token_types, input.token_types) : token_types[0]);
  }
  return with_positions(hidden, input);
}

at::Tensor EmbeddingsImpl::forward(const EmbeddingsInput& input) {
  const auto drop = [&](const at::Tensor& x) {
    return is_training() ? seeded_dropout(x, config_.dropout, dropout_seed(input.seed, kDropoutLayer, 1)) : x;
  };
  const bool projects_first = project && config_.projects_first;
  const at::Tensor rows = projects_first ? project(rows_of(input)) : rows_of(input);
  const at::Tensor hidden = !norm ? drop(rows) : config_.dropout_before_norm ? norm(drop(rows)) : drop(norm(rows));
  return project && !projects_first ? project(hidden) : hidden;
}

}  // namespace weft::layers
