// SPDX-License-Identifier: Apache-2.0
// Both inputs go through a layer as one tensor, so that recomputation keeps one.
#include "support/layers/etc_encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/modules/container/modulelist.h>

#include <iterator>

#include "weft/core/error.h"
#include "weft/layers/dropout.h"
#include "weft/layers/replay/recompute.h"

namespace weft::testing {
namespace {

using layers::dropout_seed;
using layers::FeedForward;
using layers::Norm;
using layers::seeded_dropout;

// Uses of dropout in a layer, see dropout_seed.
constexpr std::int64_t kProbabilities = 1;
constexpr std::int64_t kAttention = 2;
constexpr std::int64_t kGlobalAttention = 3;
constexpr std::int64_t kFeedForward = 4;
constexpr std::int64_t kGlobalFeedForward = 5;

layers::BlockConfig feed_forward_config(const EtcConfig& config) {
  layers::BlockConfig block;
  block.hidden_size = config.attention.hidden_size;
  block.intermediate_size = config.intermediate_size;
  block.activation = "gelu_new";
  return block;
}

void check_etc_ids(const at::Tensor& ids, const at::Tensor& table, at::IntArrayRef sizes, const char* name) {
  require(ids.scalar_type() == at::kLong && ids.dim() == 2 && ids.sizes() == sizes && ids.numel() > 0,
          "an ETC encoder takes ", name, " as int64 [batch, tokens], not empty, of shape ", sizes, ", found ",
          ids.scalar_type(), ' ', ids.sizes());
  const auto least = ids.min().item<std::int64_t>();
  const auto most = ids.max().item<std::int64_t>();
  require(least >= 0 && most < table.size(0), "an ETC encoder has ", table.size(0), " ", name, ", found ids ", least,
          " to ", most);
}

}  // namespace

EtcLayerImpl::EtcLayerImpl(const EtcConfig& config, std::int64_t layer, const at::TensorOptions& options)
    : attention(register_module("attention", GlobalLocalAttention(config.attention, options))),
      layer_(layer),
      dropout_(config.dropout) {
  const auto norm_named = [&](const char* name) {
    return register_module(
        name, Norm(config.attention.hidden_size, layers::NormConfig{.epsilon = config.layer_norm_eps}, options));
  };
  attention_norm = norm_named("attention_norm");
  global_attention_norm = norm_named("global_attention_norm");
  feed_forward = register_module("feed_forward", FeedForward(feed_forward_config(config), options));
  feed_forward_norm = norm_named("feed_forward_norm");
}

at::Tensor EtcLayerImpl::dropped(const at::Tensor& rows, const DropoutSeed& seed, std::int64_t site) const {
  return is_training() && dropout_ > 0.0 ? seeded_dropout(rows, dropout_, dropout_seed(seed, layer_, site)) : rows;
}

GlobalLocalRows EtcLayerImpl::forward(const GlobalLocalRows& x, const EtcStructure& structure,
                                      const DropoutSeed& seed) {
  const GlobalLocalRows seen = attention->forward(x, structure, dropout_seed(seed, layer_, kProbabilities));
  const at::Tensor tokens = attention_norm(x.tokens + dropped(seen.tokens, seed, kAttention));
  const at::Tensor globals = global_attention_norm(x.globals + dropped(seen.globals, seed, kGlobalAttention));
  return {feed_forward_norm(tokens + dropped(feed_forward(tokens), seed, kFeedForward)),
          feed_forward_norm(globals + dropped(feed_forward(globals), seed, kGlobalFeedForward))};
}

EtcEncoderImpl::EtcEncoderImpl(const EtcConfig& config, const at::TensorOptions& options) : dropout_(config.dropout) {
  require(
      config.vocab_size > 0 && config.global_vocab_size > 0 && config.segment_types > 1 && config.layers > 0 &&
          config.intermediate_size > 0,
      "an ETC encoder needs tokens, global tokens, layers and a feed-forward width of at least 1, and two segments, "
      "found ",
      config.vocab_size, ", ", config.global_vocab_size, ", ", config.layers, ", ", config.intermediate_size, " and ",
      config.segment_types);
  const std::int64_t width = config.attention.hidden_size;
  const auto table = [&](const char* name, std::int64_t rows) {
    return register_parameter(name, at::empty({rows, width}, options));
  };
  tokens = table("tokens", config.vocab_size);
  global_tokens = table("global_tokens", config.global_vocab_size);
  segments = table("segments", config.segment_types);
  norm = register_module("norm", Norm(width, layers::NormConfig{.epsilon = config.layer_norm_eps}, options));
  global_norm =
      register_module("global_norm", Norm(width, layers::NormConfig{.epsilon = config.layer_norm_eps}, options));
  const auto list = register_module("layers", torch::nn::ModuleList());
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    layers_.emplace_back(config, layer, options);
    list->push_back(layers_.back());
  }
}

at::Tensor EtcEncoderImpl::embedded(const at::Tensor& rows, Norm& its_norm, const DropoutSeed& seed,
                                    std::int64_t site) {
  const at::Tensor normed = its_norm(rows);
  const auto in_front = std::ssize(layers_);  // no layer has this number
  return is_training() && dropout_ > 0.0 ? seeded_dropout(normed, dropout_, dropout_seed(seed, in_front, site))
                                         : normed;
}

GlobalLocalRows EtcEncoderImpl::forward(const EtcInput& input, bool recompute) {
  const at::Tensor types = input.segments.defined() ? input.segments : at::ones_like(input.ids);
  const at::Tensor global_types =
      input.global_segments.defined() ? input.global_segments : at::zeros_like(input.global_ids);
  check_etc_ids(input.ids, tokens, input.ids.sizes(), "tokens");
  check_etc_ids(input.global_ids, global_tokens, input.global_ids.sizes(), "global tokens");
  check_etc_ids(types, segments, input.ids.sizes(), "segments");
  check_etc_ids(global_types, segments, input.global_ids.sizes(), "segments");
  const auto rows_of = [&](const at::Tensor& table, const at::Tensor& ids, const at::Tensor& its_types) {
    return at::embedding(table, ids) + at::embedding(segments, its_types);
  };
  GlobalLocalRows rows{
      embedded(rows_of(tokens, input.ids, types), norm, input.seed, kAttention),
      embedded(rows_of(global_tokens, input.global_ids, global_types), global_norm, input.seed, kGlobalAttention)};
  const std::int64_t length = input.ids.size(1);
  const auto split = [length](const at::Tensor& both) {
    return GlobalLocalRows{both.narrow(1, 0, length), both.narrow(1, length, both.size(1) - length)};
  };
  for (EtcLayer& layer : layers_) {
    if (!recompute || !at::GradMode::is_enabled()) {
      rows = layer->forward(rows, input.structure, input.seed);
      continue;
    }
    // Holder and structure are copied: the layer runs again in the backward pass, long after this call.
    const auto again = [layer, split, structure = input.structure, seed = input.seed](const at::Tensor& both) mutable {
      const GlobalLocalRows result = layer->forward(split(both), structure, seed);
      return at::cat({result.tokens, result.globals}, 1);
    };
    rows = split(layers::recompute(again, at::cat({rows.tokens, rows.globals}, 1), layer->parameters()));
  }
  return rows;
}

}  // namespace weft::testing
