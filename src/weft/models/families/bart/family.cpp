// SPDX-License-Identifier: Apache-2.0
// BART (Lewis et al. 2020): post-norm, learned positions whose table begins with two idle rows, one table of tokens for
// source, target and head.
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

/// The fields of large BART where its config.json is silent, which are those of `transformers`.
EncoderDecoderConfig bart_defaults() {
  EncoderDecoderConfig config;
  config.model_type = "bart";
  config.vocab_size = 50265;
  config.d_model = 1024;
  config.encoder_layers = 12;
  config.decoder_layers = 12;
  config.encoder_attention_heads = 16;
  config.decoder_attention_heads = 16;
  config.encoder_ffn_dim = 4096;
  config.decoder_ffn_dim = 4096;
  config.position_offset = 2;
  config.encoder_attention = {};  // the family's own
  config.dropout = 0.1;
  config.pad_token_id = 1;
  config.bos_token_id = 0;
  config.eos_token_id = 2;
  config.decoder_start_token_id = 2;
  config.tokenizer_class = "huggingface";
  return config;
}

std::vector<FieldName> bart_fields() {
  return {{"vocab_size", "vocab_size"},
          {"d_model", "d_model"},
          {"encoder_layers", "encoder_layers"},
          {"decoder_layers", "decoder_layers"},
          {"encoder_attention_heads", "encoder_attention_heads"},
          {"decoder_attention_heads", "decoder_attention_heads"},
          {"encoder_ffn_dim", "encoder_ffn_dim"},
          {"decoder_ffn_dim", "decoder_ffn_dim"},
          {"max_source_positions", "max_position_embeddings"},
          {"max_target_positions", "max_position_embeddings"},
          {"scale_embedding", "scale_embedding"},
          {"activation_function", "activation_function"},
          {"dropout", "dropout"},
          {"attention_dropout", "attention_dropout"},
          {"init_std", "init_std"},
          {"tie_word_embeddings", "tie_word_embeddings"},
          {"pad_token_id", "pad_token_id"},
          {"bos_token_id", "bos_token_id"},
          {"eos_token_id", "eos_token_id"},
          {"decoder_start_token_id", "decoder_start_token_id"},
          {"encoder_attention", "encoder_attention"},
          {"decoder_attention", "decoder_attention"},
          {"cross_attention", "cross_attention"}};
}

std::vector<NameRow> bart_names() {
  return {
      {"encoder.embeddings.tokens", {"~encoder.embed_tokens.weight"}},
      {"decoder.embeddings.tokens", {"~decoder.embed_tokens.weight"}},
      {"head", {"lm_head.weight"}},
      {"encoder.embeddings.positions", {"~encoder.embed_positions.weight"}},
      {"encoder.embeddings.norm", {"~encoder.layernorm_embedding"}},
      {"encoder.norm", {"~encoder.layer_norm"}},
      {"decoder.embeddings.positions", {"~decoder.embed_positions.weight"}},
      {"decoder.embeddings.norm", {"~decoder.layernorm_embedding"}},
      {"decoder.norm", {"~decoder.layer_norm"}},
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layers.#.self_attn.q_proj", "~encoder.layers.#.self_attn.k_proj",
        "~encoder.layers.#.self_attn.v_proj"}},
      {"encoder.layers.#.attention.output", {"~encoder.layers.#.self_attn.out_proj"}},
      {"encoder.layers.#.attention_norm", {"~encoder.layers.#.self_attn_layer_norm"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.layers.#.fc1"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.layers.#.fc2"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.layers.#.final_layer_norm"}},
      {"decoder.layers.#.attention.qkv",
       {"~decoder.layers.#.self_attn.q_proj", "~decoder.layers.#.self_attn.k_proj",
        "~decoder.layers.#.self_attn.v_proj"}},
      {"decoder.layers.#.attention.output", {"~decoder.layers.#.self_attn.out_proj"}},
      {"decoder.layers.#.attention_norm", {"~decoder.layers.#.self_attn_layer_norm"}},
      {"decoder.layers.#.cross_attention.query", {"~decoder.layers.#.encoder_attn.q_proj"}},
      {"decoder.layers.#.cross_attention.key_value",
       {"~decoder.layers.#.encoder_attn.k_proj", "~decoder.layers.#.encoder_attn.v_proj"}},
      {"decoder.layers.#.cross_attention.output", {"~decoder.layers.#.encoder_attn.out_proj"}},
      {"decoder.layers.#.cross_attention_norm", {"~decoder.layers.#.encoder_attn_layer_norm"}},
      {"decoder.layers.#.feed_forward.up", {"~decoder.layers.#.fc1"}},
      {"decoder.layers.#.feed_forward.down", {"~decoder.layers.#.fc2"}},
      {"decoder.layers.#.feed_forward_norm", {"~decoder.layers.#.final_layer_norm"}},
  };
}

PairRules bart_rules() {
  PairRules rules;
  rules.class_name = "BartForConditionalGeneration";
  rules.base_class = "BartModel";
  rules.defaults = bart_defaults();
  rules.fields = bart_fields();
  rules.second_names = {{"hidden_size", "d_model"},
                        {"num_hidden_layers", "encoder_layers"},
                        {"num_attention_heads", "encoder_attention_heads"}};
  rules.names = bart_names();
  return rules;
}

}  // namespace

const Family& bart_family() {
  static const PairRules rules = bart_rules();
  static const Family family{.name = "bart", .model_type = "bart", .pair = &rules};
  return family;
}

}  // namespace weft::models
