// SPDX-License-Identifier: Apache-2.0
// From a family's settings to layers, and a batch through them.
#include "weft/models/encoder/stack.h"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>
#include <torch/nn/modules/container/modulelist.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/layers/recompute.h"

namespace weft::models {
namespace {

/// The mechanism that replaces the family's own in a layer; empty: none does.
std::string given_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  if (!options.attention.empty()) {
    return options.attention;
  }
  if (config.attention.empty()) {
    return {};
  }
  return config.attention.size() == 1 ? config.attention.front() : config.attention.at(static_cast<std::size_t>(layer));
}

layers::EmbeddingsConfig encoder_embeddings(const EncoderConfig& config) {
  const EncoderFamily& family = find_family(config.model_type);
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.hidden_size;
  embeddings.maximum_length = config.max_position_embeddings;
  embeddings.positions = layers::PositionKind::kLearned;
  embeddings.with_norm = true;
  embeddings.layer_norm_eps = config.layer_norm_eps;
  embeddings.dropout = config.hidden_dropout_prob;
  embeddings.dropout_before_norm = family.dropout_before_norm;
  embeddings.token_types = config.type_vocab_size;
  embeddings.padding_id = config.pad_token_id;
  embeddings.skip_padding = family.skip_padding;
  embeddings.token_scale = config.rescale_embeddings ? std::sqrt(static_cast<double>(config.hidden_size)) : 1.0;
  return embeddings;
}

layers::BlockConfig encoder_block(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  const EncoderFamily& family = find_family(config.model_type);
  const std::string given = given_attention(config, options, layer);
  layers::BlockConfig block;
  block.layer = layer;
  block.hidden_size = config.hidden_size;
  block.heads = config.num_attention_heads;
  block.key_value_heads = config.num_attention_heads;
  block.intermediate_size = config.intermediate_size;
  block.maximum_length = config.max_position_embeddings;
  block.attention = given.empty() ? family.attention(config, options, layer) : given;
  // What was asked for beside the config names files where it was asked.
  block.directory = options.attention.empty() ? config.directory : std::filesystem::path();
  block.short_attention = given.empty() && family.full_until(config, options) >= 0 ? "full" : "";
  block.qkv_bias = config.use_bias;
  block.global_projection = family.global_projection;
  block.activation = config.hidden_act;
  block.norm_first = false;
  block.layer_norm_eps = config.layer_norm_eps;
  block.dropout = config.hidden_dropout_prob;
  block.attention_dropout = config.attention_probs_dropout_prob;
  return block;
}

/// The parts of a batch back in its order.
at::Tensor join_parts(const std::vector<at::Tensor>& hidden, const std::vector<at::Tensor>& rows) {
  return hidden.size() == 1 ? hidden.front() : at::cat(hidden).index_select(0, at::cat(rows).argsort());
}

}  // namespace

EncoderStackImpl::EncoderStackImpl(const EncoderConfig& config, const EncoderOptions& encoder,
                                   const at::TensorOptions& options)
    : embeddings(register_module("embeddings", layers::Embeddings(encoder_embeddings(config), options))),
      config_(config),
      options_(encoder),
      full_until_(-1) {
  if (given_attention(config, encoder, 0).empty()) {
    full_until_ = find_family(config.model_type).full_until(config, encoder);
  }
  const auto list = register_module("layers", torch::nn::ModuleList());
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    layers_.emplace_back(encoder_block(config, encoder, layer), options);
    list->push_back(layers_.back());
    bind_ = bind_ || layers_.back()->attention->needs_input();
  }
}

at::Tensor EncoderStackImpl::forward(const EncoderBatch& batch, const StackCall& call) {
  const std::int64_t columns = batch.ids.size(1);
  const BatchParts parts = split_by_length(batch, full_until_, options_.pad_like_hf);
  const bool pads = options_.pad_like_hf && is_sparse() && !parts.parts.front().short_input;
  if (pads) {
    const std::int64_t block = options_.block_size > 0 ? options_.block_size : config_.block_size;
    const EncoderBatch padded = pad_columns(batch, block, config_.pad_token_id);
    require(padded.ids.size(1) <= config_.max_position_embeddings, "pad_like_hf makes ", columns, " tokens ",
            padded.ids.size(1), ", more than max_position_embeddings = ", config_.max_position_embeddings);
    record(batch, parts, padded.ids.size(1) - columns);
    return run(padded, call).narrow(1, 0, columns);
  }
  record(batch, parts, 0);
  std::vector<at::Tensor> hidden;
  hidden.reserve(parts.parts.size());
  for (const EncoderBatch& part : parts.parts) {
    hidden.push_back(run(part, call));
  }
  return join_parts(hidden, parts.rows);
}

at::Tensor EncoderStackImpl::run(const EncoderBatch& batch, const StackCall& call) {
  layers::BlockContext context;
  // Longformer's padded rows are zeros in transformers, as rows beyond their length are here.
  const bool padded = options_.pad_like_hf && !find_family(config_.model_type).global_projection;
  describe_batch(context.attention, batch, padded, bind_);
  if (padded && is_sparse() && !batch.short_input) {
    context.query_keep = batch.keep;
  }
  context.attention.seed = call.seed;
  context.short_input = batch.short_input;
  at::Tensor hidden = embeddings(layers::EmbeddingsInput{
      .ids = batch.ids, .first_position = 0, .seed = call.seed, .token_types = batch.token_types});
  for (layers::TransformerBlock& layer : layers_) {
    if (call.recompute && at::GradMode::is_enabled()) {
      // Holder and context are copied into the closure: it runs again in the backward pass, long after this call.
      hidden = layers::recompute([layer, context](const at::Tensor& x) mutable { return layer(x, context); }, hidden,
                                 layer->parameters());
    } else {
      hidden = layer(hidden, context);
    }
  }
  return hidden;
}

void EncoderStackImpl::record(const EncoderBatch& batch, const BatchParts& parts, std::int64_t padding) {
  last_ = {batch.ids.size(0), 0, padding};
  for (const EncoderBatch& part : parts.parts) {
    last_.short_rows += part.short_input ? part.ids.size(0) : 0;
  }
}

std::vector<std::pair<std::string, std::string>> EncoderStackImpl::computed() const {
  std::vector<std::pair<std::string, std::string>> result;
  const bool all_short = last_.rows > 0 && last_.short_rows == last_.rows;
  std::string common;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const std::string expression = layers_[layer]->attention->description(all_short);
    if (layer == 0) {
      result.emplace_back("attention", expression);
      common = expression;
    } else if (expression != common) {
      result.emplace_back(concat("attention.", layer), expression);
    }
  }
  if (is_sparse() && !all_short) {
    result.emplace_back("random", options_.random);
  }
  if (last_.short_rows > 0) {
    result.emplace_back("full_attention", concat(last_.short_rows, " of ", last_.rows, " rows have at most ",
                                                 full_until_, " tokens, too few for the sparse pattern"));
  }
  if (last_.padding > 0) {
    result.emplace_back("padding", concat(last_.padding, " tokens added to a multiple of the block"));
  }
  return result;
}

}  // namespace weft::models
