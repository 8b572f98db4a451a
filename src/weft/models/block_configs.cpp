// SPDX-License-Identifier: Apache-2.0
// From a model's config to those of its layers.
#include "weft/models/block_configs.h"

namespace weft::models {

layers::BlockConfig block_config(const TransformerConfig& config, std::int64_t layer) {
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
  block.attention_dropout = config.attention_probs_dropout_prob;
  block.directory = config.directory;
  return block;
}

layers::EmbeddingsConfig embeddings_config(const TransformerConfig& config) {
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.hidden_size;
  embeddings.maximum_length = config.max_position_embeddings;
  embeddings.with_norm = config.norm_position == "post";
  embeddings.layer_norm_eps = config.layer_norm_eps;
  embeddings.dropout = config.hidden_dropout_prob;
  if (config.position_embedding == "learned") {
    embeddings.positions = layers::PositionKind::kLearned;
  } else if (config.position_embedding == "sinusoidal") {
    embeddings.positions = layers::PositionKind::kSinusoidal;
  }
  return embeddings;
}

}  // namespace weft::models
