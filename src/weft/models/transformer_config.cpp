// SPDX-License-Identifier: Apache-2.0
// The rules between the fields of a TransformerConfig, and the stack that it describes.
#include "weft/models/transformer_config.h"

#include <cmath>

#include "weft/models/stack/stack_config.h"

namespace weft::models {
namespace {

void check_heads(const TransformerConfig& config, std::string_view where) {
  require(config.hidden_size % config.num_attention_heads == 0, where, ": hidden_size ", config.hidden_size,
          " is not divisible by num_attention_heads ", config.num_attention_heads);
  require(config.num_attention_heads % config.key_value_heads() == 0, where, ": num_attention_heads ",
          config.num_attention_heads, " is not a multiple of num_key_value_heads ", config.key_value_heads());
  const bool rotary = config.position_embedding == "rotary";
  require(!rotary || config.head_dim() % 2 == 0, where,
          ": rotary position_embedding needs an even head dimension, but hidden_size / ", "num_attention_heads is ",
          config.head_dim());
}

void check_attention(const TransformerConfig& config, std::string_view where) {
  const auto count = static_cast<std::int64_t>(config.attention.size());
  require(count == 1 || count == config.num_hidden_layers, where,
          ": attention must list one mechanism, or one for each of ", config.num_hidden_layers, " layers, found ",
          count);
  check_mechanisms(stack_config(config), where);
}

void check_vocabulary(const TransformerConfig& config, std::string_view where) {
  require(config.vocabulary_division == 1 || !config.vocabulary_cutoffs.empty(), where, ": vocabulary_division ",
          config.vocabulary_division, " is for a vocabulary in clusters, but there are no vocabulary_cutoffs");
  if (const auto adaptive = config.adaptive_vocabulary()) {
    require(config.is_decoder, where, ": a vocabulary in clusters (vocabulary_cutoffs, variant transformer-xl) is for ",
            "decoders, but is_decoder is false");
    check_clusters(*adaptive, where);
  }
  require(!config.is_transformer_xl() || (config.norm_position == "post" && config.position_embedding == "none"), where,
          ": variant transformer-xl needs norm_position post and position_embedding none, found ", config.norm_position,
          " and ", config.position_embedding);
}

layers::BlockConfig causal_block(const TransformerConfig& config, std::int64_t layer) {
  layers::BlockConfig block;
  block.layer = layer;
  block.hidden_size = config.hidden_size;
  block.heads = config.num_attention_heads;
  block.key_value_heads = config.key_value_heads();
  block.intermediate_size = config.feed_forward_size();
  block.maximum_length = config.max_position_embeddings;
  block.attention = config.attention_of(layer);
  block.activation = config.hidden_act;
  block.causal = config.is_decoder;
  block.alibi = config.position_embedding == "alibi";
  block.norm_first = config.norm_position == "pre";
  block.layer_norm_eps = config.layer_norm_eps;
  block.dropout = config.hidden_dropout_prob;
  block.qkv_bias = block.output_bias = !config.is_transformer_xl();
  block.attention_dropout = config.attention_probs_dropout_prob;
  block.directory = config.directory;
  return block;
}

layers::EmbeddingsConfig causal_embeddings(const TransformerConfig& config) {
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.hidden_size;
  embeddings.maximum_length = config.max_position_embeddings;
  embeddings.with_norm = config.norm_position == "post" && !config.is_transformer_xl();
  embeddings.layer_norm_eps = config.layer_norm_eps;
  embeddings.dropout = config.hidden_dropout_prob;
  embeddings.adaptive = config.adaptive_vocabulary();
  if (config.is_transformer_xl()) {
    embeddings.token_scale = std::sqrt(static_cast<double>(config.hidden_size));
  }
  if (config.position_embedding == "learned") {
    embeddings.positions = layers::PositionKind::kLearned;
  } else if (config.position_embedding == "sinusoidal") {
    embeddings.positions = layers::PositionKind::kSinusoidal;
    // Embeddings are drawn small: the factor brings them nearer to the waves.
    embeddings.token_scale = std::sqrt(static_cast<double>(config.hidden_size));
  }
  return embeddings;
}

}  // namespace

StackConfig stack_config(const TransformerConfig& config) {
  StackConfig stack;
  stack.embeddings = causal_embeddings(config);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    stack.blocks.push_back(causal_block(config, layer));
  }
  stack.last_norm = config.norm_position == "pre";
  stack.last_dropout = config.is_transformer_xl() ? config.hidden_dropout_prob : 0.0;
  stack.rope_theta = config.position_embedding == "rotary" ? config.rope_theta : 0.0;
  return stack;
}

void check_memory(const TransformerConfig& config, std::string_view where) {
  require(config.is_decoder, where, ": memory_length is for decoders, but is_decoder is false");
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string& expression = config.attention_of(layer);
    require(attention::parse_mechanism(expression, config.directory).keeps_memory, where, ": attention of layer ",
            layer, ": `", expression,
            "` cannot go on behind a memory, because a segment does not know its place in the text; ",
            "`relative` and `span` can, as they know distances alone");
  }
  require(
      config.position_embedding == "none" || config.position_embedding == "alibi", where,
      ": memory_length needs position_embedding none or alibi, because rows of a memory have no other place in the ",
      "text, found ", config.position_embedding);
}

void validate(const TransformerConfig& config, std::string_view where) {
  check_fields(config, where);
  check_heads(config, where);
  require(config.tokenizer_class != "bytes" || config.vocab_size >= 256, where,
          ": vocab_size must be at least 256 with tokenizer_class bytes, found ", config.vocab_size);
  require(!config.span_boundary_objective || !config.is_decoder, where,
          ": span_boundary_objective is for encoders, but is_decoder is true");
  check_vocabulary(config, where);
  check_attention(config, where);
  if (config.memory_length > 0) {
    check_memory(config, where);
  }
}

}  // namespace weft::models
