// SPDX-License-Identifier: Apache-2.0
// The native language model.
#include "weft/models/language_model.h"

#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>
#include <torch/nn/modules/container/modulelist.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/layers/recompute.h"
#include "weft/models/batch_rows.h"
#include "weft/models/block_configs.h"
#include "weft/models/initialization.h"

namespace weft::models {
namespace {

void check_ids(const at::Tensor& ids, std::int64_t vocabulary) {
  require(ids.defined() && ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0,
          "input_ids must be int64 [batch, length] with at least one token");
  // Two answers from the device a call; an id outside would read beyond the embedding table.
  const std::int64_t smallest = ids.min().item<std::int64_t>();
  const std::int64_t largest = ids.max().item<std::int64_t>();
  require(smallest >= 0 && largest < vocabulary, "input_ids holds ", smallest < 0 ? smallest : largest,
          ", but ids are in [0, vocab_size = ", vocabulary, ")");
}

void check_labels(const at::Tensor& ids, const at::Tensor& labels) {
  require(labels.defined() && ids.defined() && labels.sizes() == ids.sizes(),
          "labels and input_ids differ in shape: ", labels.sizes(), " and ", ids.sizes());
}

// From LibTorch's CPU generator, so that at::manual_seed governs a call without a seed.
std::uint64_t draw_seed() {
  const at::Tensor draw =
      at::randint(std::numeric_limits<std::int64_t>::max(), {1}, at::TensorOptions().dtype(at::kLong));
  return static_cast<std::uint64_t>(draw.item<std::int64_t>());
}

}  // namespace

LanguageModelImpl::LanguageModelImpl(const TransformerConfig& config)
    : LanguageModelImpl(config, at::TensorOptions(at::kFloat)) {
  initialize(*this, config);
}

LanguageModelImpl::LanguageModelImpl(const TransformerConfig& config, const at::TensorOptions& options)
    : config_(config) {
  validate(config, "model config");
  embeddings_ = register_module("embeddings", layers::Embeddings(embeddings_config(config), options));
  // The list is for names and parameters, layers.0.attention...; calls go through the vector of typed holders.
  const auto list = register_module("layers", torch::nn::ModuleList());
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    layers_.emplace_back(block_config(config, layer), options);
    list->push_back(layers_.back());
  }
  if (config.norm_position == "pre") {
    norm_ = register_module("norm", layers::LayerNorm(config.hidden_size, config.layer_norm_eps, options));
  }
  head_ = register_module("head", LanguageModelHead(config, options));
  if (config.position_embedding == "rotary") {
    rotary_.emplace(config.head_dim(), config.rope_theta);
  }
}

at::Tensor LanguageModelImpl::run(const at::Tensor& ids, layers::BlockContext& context) {
  const std::int64_t first = context.attention.query_offset;
  const bool fits = config_.position_embedding != "learned" || first + ids.size(1) <= config_.max_position_embeddings;
  require(fits, "position_embedding is learned for max_position_embeddings = ", config_.max_position_embeddings,
          " positions, but ", first + ids.size(1), " are needed");
  at::Tensor hidden =
      embeddings_(layers::EmbeddingsInput{.ids = ids, .first_position = first, .seed = context.attention.seed});
  if (rotary_) {
    // Once for all layers: the angles depend on the position alone.
    context.rotation = rotary_->at_positions(first, ids.size(1), hidden.options());
  }
  for (const layers::TransformerBlock& layer : layers_) {
    hidden = run_layer(layer, hidden, context);
  }
  return norm_ ? norm_(hidden) : hidden;
}

at::Tensor LanguageModelImpl::run_layer(layers::TransformerBlock layer, const at::Tensor& hidden,
                                        const layers::BlockContext& context) const {
  if (!config_.gradient_checkpointing || !at::GradMode::is_enabled()) {
    return layer(hidden, context);
  }
  // Holder and context are copied into the closure: it runs again in the backward pass, long after this call.
  const std::vector<at::Tensor> parameters = layer->parameters();
  return layers::recompute([layer, context](const at::Tensor& x) mutable { return layer(x, context); }, hidden,
                           parameters);
}

at::Tensor LanguageModelImpl::hidden_states(const ModelInput& input) {
  check_ids(input.input_ids, config_.vocab_size);
  layers::BlockContext context;
  describe_rows(context.attention, input.attention_mask, input.global_positions, input.input_ids);
  const bool drops = is_training() && (config_.hidden_dropout_prob > 0.0 || config_.attention_probs_dropout_prob > 0.0);
  if (drops) {
    context.attention.seed = input.seed ? *input.seed : draw_seed();
  }
  return run(input.input_ids, context);
}

at::Tensor LanguageModelImpl::logits(const ModelInput& input) {
  return head_->logits(hidden_states(input), embeddings_->tokens);
}

at::Tensor LanguageModelImpl::loss(const ModelInput& input, const at::Tensor& labels, double smoothing) {
  check_labels(input.input_ids, labels);
  const at::Tensor hidden = hidden_states(input);
  const at::Tensor loss = head_->loss(hidden.flatten(0, 1), embeddings_->tokens, labels.flatten(), smoothing);
  const bool boundaries = config_.span_boundary_objective && is_training();
  return boundaries ? loss + head_->span_loss(hidden, embeddings_->tokens, labels) : loss;
}

TokenScores LanguageModelImpl::token_scores(const ModelInput& input, const at::Tensor& labels) {
  check_labels(input.input_ids, labels);
  const at::NoGradGuard without_gradients;
  const TokenScores scores =
      head_->token_scores(hidden_states(input).flatten(0, 1), embeddings_->tokens, labels.flatten());
  return {scores.nats.view(labels.sizes()), scores.hits.view(labels.sizes())};
}

at::Tensor LanguageModelImpl::decode(const at::Tensor& input_ids, layers::DecodingCache& cache) {
  const at::NoGradGuard without_gradients;
  if (!config_.is_decoder) {
    fail(ErrorKind::kUnsupported, "decode needs a decoder, but is_decoder is false");
  }
  check_ids(input_ids, config_.vocab_size);
  layers::BlockContext context;
  context.attention.query_offset = cache.length();
  context.cache = &cache;
  const at::Tensor hidden = run(input_ids, context);
  // Only now: every layer has appended behind the same length.
  cache.advance(input_ids.size(1));
  return head_->logits(hidden.select(1, input_ids.size(1) - 1), embeddings_->tokens);
}

std::int64_t LanguageModelImpl::parameter_count() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : parameters()) {
    count += parameter.numel();
  }
  return count;
}

}  // namespace weft::models
