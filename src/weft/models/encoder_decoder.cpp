// SPDX-License-Identifier: Apache-2.0
// The two stacks of an EncoderDecoderConfig, and a pair of texts through them.
#include "weft/models/encoder_decoder.h"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>

#include "weft/core/error.h"
#include "weft/layers/attention/cross_attention.h"
#include "weft/layers/dropout.h"
#include "weft/models/heads/vocabulary_head.h"
#include "weft/models/stack/batch_rows.h"
#include "weft/models/stack/initialize.h"
#include "weft/models/stack/stack.h"

namespace weft::models {
namespace {

constexpr std::int64_t kEncoderSeed = -3;  // of dropout_seed: -1 and -2 are embeddings and heads

void check_list(const std::vector<std::string>& list, std::int64_t layers, std::string_view where, const char* field) {
  const auto count = static_cast<std::int64_t>(list.size());
  require(count == 1 || count == layers, where, ": ", field, " must list one mechanism, or one for each of ", layers,
          " layers, found ", count);
}

const std::string& of_layer(const std::vector<std::string>& list, std::int64_t layer) {
  return list.size() == 1 ? list.front() : list.at(static_cast<std::size_t>(layer));
}

layers::EmbeddingsConfig pair_embeddings(const EncoderDecoderConfig& config, std::int64_t positions) {
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.d_model;
  embeddings.maximum_length = positions;
  embeddings.with_norm = config.normalize_embedding;
  embeddings.layer_norm_eps = config.layer_norm_eps;
  embeddings.dropout = config.dropout;
  embeddings.padding_id = config.pad_token_id;
  embeddings.token_scale = config.scale_embedding ? std::sqrt(static_cast<double>(config.d_model)) : 1.0;
  if (config.position_embedding == "learned") {
    embeddings.positions = layers::PositionKind::kLearned;
  } else if (config.position_embedding == "sinusoidal") {
    embeddings.positions = layers::PositionKind::kSinusoidal;
  }
  return embeddings;
}

/// What the layers of both stacks have in common.
layers::BlockConfig pair_block(const EncoderDecoderConfig& config, std::int64_t layer, std::int64_t heads) {
  layers::BlockConfig block;
  block.layer = layer;
  block.hidden_size = config.d_model;
  block.heads = heads;
  block.key_value_heads = heads;
  block.activation = config.activation_function;
  block.norm_first = config.norm_position == "pre";
  block.layer_norm_eps = config.layer_norm_eps;
  block.dropout = config.dropout;
  block.attention_dropout = config.attention_dropout;
  block.directory = config.directory;
  return block;
}

void check_head_count(const EncoderDecoderConfig& config, std::string_view where, const char* field,
                      std::int64_t heads) {
  require(config.d_model % heads == 0, where, ": d_model ", config.d_model, " is not divisible by ", field, " ", heads);
  require(config.position_embedding != "rotary" || config.d_model / heads % 2 == 0, where,
          ": rotary position_embedding needs an even head dimension, but d_model ", config.d_model, " over ", field,
          " ", heads, " is ", config.d_model / heads);
}

/// Mechanisms of one stack, whose self-attention binds no positions: a SequencePair names none.
void check_stack(const StackConfig& stack, const std::string& where) {
  check_mechanisms(stack, where);
  for (const layers::BlockConfig& block : stack.blocks) {
    if (attention::parse_mechanism(block.attention, block.directory).needs_input) {
      fail(ErrorKind::kUnsupported, where, ": attention of layer ", block.layer, ": `", block.attention,
           "` names `input`, but a call of an encoder-decoder names no such positions");
    }
  }
}

void finish(StackConfig& stack, const EncoderDecoderConfig& config) {
  stack.last_norm = config.norm_position == "pre";
  stack.rope_theta = config.position_embedding == "rotary" ? 10000.0 : 0.0;
}

void check_token_table(const at::Tensor& ids, std::int64_t vocabulary, const char* name) {
  require(ids.defined() && ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0, name,
          " must be int64 [batch, length] with at least one token");
  check_range(ids, vocabulary, name, "vocab_size");
}

}  // namespace

StackConfig encoder_stack(const EncoderDecoderConfig& config) {
  StackConfig stack;
  stack.length_field = "max_source_positions";
  stack.embeddings = pair_embeddings(config, config.max_source_positions);
  for (std::int64_t layer = 0; layer < config.encoder_layers; ++layer) {
    layers::BlockConfig block = pair_block(config, layer, config.encoder_attention_heads);
    block.intermediate_size = config.encoder_ffn_dim;
    block.maximum_length = config.max_source_positions;
    block.attention = of_layer(config.encoder_attention, layer);
    stack.blocks.push_back(block);
  }
  finish(stack, config);
  return stack;
}

StackConfig decoder_stack(const EncoderDecoderConfig& config) {
  StackConfig stack;
  stack.length_field = "max_target_positions";
  stack.embeddings = pair_embeddings(config, config.max_target_positions);
  stack.embeddings.shares_tokens = config.share_embeddings;
  for (std::int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    layers::BlockConfig block = pair_block(config, layer, config.decoder_attention_heads);
    block.intermediate_size = config.decoder_ffn_dim;
    block.maximum_length = config.max_target_positions;
    block.maximum_source_length = config.max_source_positions;
    block.attention = of_layer(config.decoder_attention, layer);
    block.cross_attention = of_layer(config.cross_attention, layer);
    block.causal = true;
    stack.blocks.push_back(block);
  }
  finish(stack, config);
  return stack;
}

void validate(const EncoderDecoderConfig& config, std::string_view where) {
  check_fields(config, where);
  check_head_count(config, where, "encoder_attention_heads", config.encoder_attention_heads);
  check_head_count(config, where, "decoder_attention_heads", config.decoder_attention_heads);
  for (const auto& [name, id] : {std::pair{"pad_token_id", config.pad_token_id},
                                 {"decoder_start_token_id", config.decoder_start_token_id},
                                 {"eos_token_id", config.eos_token_id}}) {
    require(id < config.vocab_size, where, ": ", name, " ", id, " is not below vocab_size ", config.vocab_size);
  }
  check_list(config.encoder_attention, config.encoder_layers, where, "encoder_attention");
  check_list(config.decoder_attention, config.decoder_layers, where, "decoder_attention");
  check_list(config.cross_attention, config.decoder_layers, where, "cross_attention");
  check_stack(encoder_stack(config), concat(where, ": encoder"));
  check_stack(decoder_stack(config), concat(where, ": decoder"));
}

EncoderDecoderImpl::EncoderDecoderImpl(const EncoderDecoderConfig& config)
    : EncoderDecoderImpl(config, at::TensorOptions(at::kFloat)) {
  // Each stack by itself: the decoder has three sublayers in a layer.
  const auto initializer = [&](double residual_layers) {
    return Initializer{.range = config.init_std,
                       .residual_divisor = config.norm_position == "pre" ? std::sqrt(residual_layers) : 1.0,
                       .padding_id = config.pad_token_id};
  };
  initialize(*this, initializer(2.0 * static_cast<double>(config.encoder_layers)), "encoder.");
  initialize(*this, initializer(3.0 * static_cast<double>(config.decoder_layers)), "decoder.");
  initialize(*this, initializer(1.0), "head");
}

EncoderDecoderImpl::EncoderDecoderImpl(const EncoderDecoderConfig& config, const at::TensorOptions& options)
    : config_(config) {
  validate(config, "model config");
  encoder_ = register_module("encoder", std::make_shared<StackImpl>(encoder_stack(config), options));
  decoder_ = register_module("decoder", std::make_shared<StackImpl>(decoder_stack(config), options));
  if (!config.tie_word_embeddings) {
    head_ = register_parameter("head", at::empty({config.vocab_size, config.d_model}, options));
  }
}

at::Tensor EncoderDecoderImpl::target_tokens() const {
  return config_.share_embeddings ? encoder_->embeddings->tokens : decoder_->embeddings->tokens;
}

at::Tensor EncoderDecoderImpl::head_weight() const { return head_.defined() ? head_ : target_tokens(); }

layers::Source EncoderDecoderImpl::read_source(const at::Tensor& ids, const at::Tensor& mask, std::uint64_t seed) {
  check_token_table(ids, config_.vocab_size, "input_ids");
  layers::BlockContext context;
  describe_rows(context.attention, mask, {}, ids);
  context.attention.seed = layers::dropout_seed(seed, kEncoderSeed, 0);
  layers::Source source;
  source.padding = context.attention;
  source.hidden = encoder_->forward({.ids = ids}, context, config_.gradient_checkpointing);
  return source;
}

at::Tensor EncoderDecoderImpl::run_decoder(const at::Tensor& ids, layers::BlockContext& context) {
  const at::Tensor shared = config_.share_embeddings ? target_tokens() : at::Tensor();
  return decoder_->forward({.ids = ids, .tokens = shared}, context, config_.gradient_checkpointing);
}

at::Tensor EncoderDecoderImpl::hidden_states(const SequencePair& pair) {
  check_token_table(pair.decoder_input_ids, config_.vocab_size, "decoder_input_ids");
  layers::BlockContext context;
  describe_rows(context.attention, pair.decoder_attention_mask, {}, pair.decoder_input_ids);
  if (is_training() && (config_.dropout > 0.0 || config_.attention_dropout > 0.0)) {
    context.attention.seed = pair.seed ? *pair.seed : draw_seed();
  }
  context.source =
      std::make_shared<const layers::Source>(read_source(pair.input_ids, pair.attention_mask, context.attention.seed));
  return run_decoder(pair.decoder_input_ids, context);
}

at::Tensor EncoderDecoderImpl::logits(const SequencePair& pair) {
  return VocabularyScorer{.weights = {head_weight(), {}}}.logits(hidden_states(pair));
}

at::Tensor EncoderDecoderImpl::loss(const SequencePair& pair, const at::Tensor& labels, double smoothing) {
  require(labels.defined() && pair.decoder_input_ids.defined() && labels.sizes() == pair.decoder_input_ids.sizes(),
          "labels and decoder_input_ids differ in shape");
  VocabularyScorer scorer{.weights = {head_weight(), {}}, .chunk = config_.loss_chunk_size};
  return scorer.loss(hidden_states(pair).flatten(0, 1), labels.flatten(), smoothing);
}

std::shared_ptr<const layers::Source> EncoderDecoderImpl::encode(const at::Tensor& input_ids,
                                                                 const at::Tensor& attention_mask) {
  require(!is_training(), "encode() is for decoding, but the model is in training mode; call eval() first");
  const at::NoGradGuard without_gradients;
  auto source = std::make_shared<layers::Source>(read_source(input_ids, attention_mask, 0));
  for (const layers::TransformerBlock& block : decoder_->blocks()) {
    layers::CrossAttention cross = block->cross_attention;
    source->heads.push_back(cross->project(source->hidden));
  }
  source->hidden = at::Tensor();
  return source;
}

layers::DecodingState EncoderDecoderImpl::initial_state() const { return decoder_->initial_state(); }

at::Tensor EncoderDecoderImpl::decode(const at::Tensor& ids, layers::DecodingState& state,
                                      const std::shared_ptr<const layers::Source>& source) {
  require(!is_training(), "decode() is for a trained model, but this one is in training mode; call eval() first");
  const at::NoGradGuard without_gradients;
  check_token_table(ids, config_.vocab_size, "decoder_input_ids");
  layers::BlockContext context;
  context.attention.query_offset = state.length();
  context.state = &state;
  context.source = source;
  const at::Tensor hidden = run_decoder(ids, context);
  // Only now: every layer has appended behind the same length.
  state.advance(ids.size(1));
  return VocabularyScorer{.weights = {head_weight(), {}}}.logits(hidden.select(1, ids.size(1) - 1));
}

std::int64_t EncoderDecoderImpl::parameter_count() const { return models::parameter_count(*this); }

}  // namespace weft::models
