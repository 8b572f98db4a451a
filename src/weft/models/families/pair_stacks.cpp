// SPDX-License-Identifier: Apache-2.0
// The two stacks that the fields of an encoder-decoder describe.
#include <cmath>

#include "weft/models/families/pair_rules.h"
#include "weft/models/stack/stack_config.h"

namespace weft::models {
namespace {

const std::string& of_layer(const std::vector<std::string>& list, std::int64_t layer) {
  return list.size() == 1 ? list.front() : list.at(static_cast<std::size_t>(layer));
}

layers::PositionKind position_kind(const std::string& name) {
  using layers::PositionKind;
  return name == "learned"              ? PositionKind::kLearned
         : name == "sinusoidal"         ? PositionKind::kSinusoidal
         : name == "sinusoidal_halves"  ? PositionKind::kSinusoidalHalves
         : name == "sinusoidal_counted" ? PositionKind::kCountedWaves
                                        : PositionKind::kNone;
}

layers::EmbeddingsConfig pair_embeddings(const EncoderDecoderConfig& config, std::int64_t positions) {
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.d_model;
  embeddings.maximum_length = positions;
  if (config.normalize_embedding) {
    embeddings.norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  }
  embeddings.dropout = config.dropout;
  embeddings.padding_id = config.pad_token_id;
  embeddings.token_scale = config.scale_embedding ? std::sqrt(static_cast<double>(config.d_model)) : 1.0;
  embeddings.positions = position_kind(config.position_embedding);
  embeddings.position_offset = config.position_offset;
  return embeddings;
}

/// What the layers of both stacks have in common.
layers::BlockConfig pair_block(const EncoderDecoderConfig& config, std::int64_t layer, std::int64_t heads) {
  layers::BlockConfig block;
  block.layer = layer;
  block.hidden_size = config.d_model;
  block.heads = heads;
  block.key_value_heads = heads;
  block.head_size = pair_rules(config).head_size(config);
  block.qkv_bias = config.attention_bias;
  block.output_bias = config.attention_bias;
  block.activation = config.activation_function;
  block.norm_first = config.norm_position == "pre";
  block.norm.epsilon = config.layer_norm_eps;
  block.rope_theta = config.position_embedding == "rotary" ? 10000.0 : 0.0;
  block.dropout = config.dropout;
  block.attention_dropout = config.attention_dropout;
  block.directory = config.directory;
  return block;
}

void finish(StackConfig& stack, const EncoderDecoderConfig& config) {
  if (config.norm_position == "pre") {
    stack.last_norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  }
}

}  // namespace

StackConfig source_stack(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  const PairRules& rules = pair_rules(config);
  StackConfig stack;
  stack.length_field = "max_source_positions";
  stack.attention_field = options.attention.empty() ? "encoder_attention" : "attention";
  stack.embeddings = pair_embeddings(config, config.max_source_positions);
  for (std::int64_t layer = 0; layer < config.encoder_layers; ++layer) {
    layers::BlockConfig block = pair_block(config, layer, config.encoder_attention_heads);
    block.intermediate_size = config.encoder_ffn_dim;
    block.maximum_length = config.max_source_positions;
    const std::string given = replacing_attention(config, options, layer);
    block.attention = given.empty() ? rules.encoder_attention(config, options, layer) : given;
    block.self_attention = rules.encoder_layer(config, options, !given.empty());
    if (!options.attention.empty()) {
      block.directory.clear();  // what was asked for beside the config names files where it was asked
    }
    stack.blocks.push_back(block);
  }
  finish(stack, config);
  return stack;
}

StackConfig target_stack(const EncoderDecoderConfig& config) {
  StackConfig stack;
  stack.length_field = "max_target_positions";
  stack.attention_field = "decoder_attention";
  stack.embeddings = pair_embeddings(config, config.max_target_positions);
  stack.embeddings.vocab_size = config.target_vocab_size();
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

}  // namespace weft::models
