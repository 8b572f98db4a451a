// SPDX-License-Identifier: Apache-2.0
// NomicBERT (Nussbaum et al. 2024): BERT with rotary positions and a gate in each feed-forward, whose norms alone have
// biases.
#include "weft/core/error.h"
#include "weft/models/families/bert/names.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/nomic_bert/config.h"
#include "weft/models/families/nomic_bert/config_json.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderConfig nomic_bert_base() {
  EncoderConfig config;
  config.model_type = "nomic_bert";
  config.vocab_size = 30528;
  config.max_position_embeddings = 2048;
  config.hidden_act = "silu";
  config.hidden_dropout_prob = 0.0;
  config.attention_probs_dropout_prob = 0.0;
  config.own = OwnFields(NomicBertFields{});
  return config;
}

void check_nomic_bert(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  check_rotation(config, where);
}

layers::EmbeddingsConfig nomic_bert_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.positions = layers::PositionKind::kNone;
  return embeddings;
}

StackConfig nomic_bert_stack(const EncoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = transformer_stack(config, options);
  for (layers::BlockConfig& block : stack.blocks) {
    block.qkv_bias = block.output_bias = block.feed_forward_bias = false;
    block.activation = gated_activation(config);
    block.rope_theta = config.own.get<NomicBertFields>().rope_theta;
  }
  return stack;
}

/// In all layouts.
std::vector<NameRow> with_nomic_head(std::vector<NameRow> own) {
  own.insert(own.end(), {{"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
                         {"encoder.embeddings.token_types", {"~embeddings.token_type_embeddings.weight"}},
                         {"head.pooler", {"~pooler.dense"}},
                         {"head.projection", {"classifier"}}});
  std::vector<NameRow> rows = with_masked_lm_names(std::move(own));
  // The first row that fits counts: BERT calls it LayerNorm.
  rows.insert(rows.begin(), {"head.norm", {"cls.predictions.transform.layer_norm"}, Head::kMaskedLanguageModel});
  return rows;
}

/// As the authors have them, and as transformers 5 writes them.
std::vector<NameRow> nomic_bert_names() {
  return with_nomic_head({
      {"encoder.embeddings.norm", {"~emb_ln"}},
      {"encoder.layers.#.attention.qkv", {"~encoder.layers.#.attn.Wqkv"}},
      {"encoder.layers.#.attention.output", {"~encoder.layers.#.attn.out_proj"}},
      {"encoder.layers.#.attention_norm", {"~encoder.layers.#.norm1"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.layers.#.mlp.fc12", "~encoder.layers.#.mlp.fc11"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.layers.#.mlp.fc2"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.layers.#.norm2"}},
  });
}

/// As the modules of transformers 5 have them.
std::vector<NameRow> native_names() {
  return with_nomic_head({
      {"encoder.embeddings.norm", {"~embeddings.LayerNorm"}},
      {"encoder.layers.#.attention.qkv",
       {"~layers.#.self_attn.q_proj", "~layers.#.self_attn.k_proj", "~layers.#.self_attn.v_proj"}},
      {"encoder.layers.#.attention.output", {"~layers.#.self_attn.o_proj"}},
      {"encoder.layers.#.attention_norm", {"~layers.#.post_attention_layernorm"}},
      {"encoder.layers.#.feed_forward.up", {"~layers.#.mlp.gate_proj", "~layers.#.mlp.up_proj"}},
      {"encoder.layers.#.feed_forward.down", {"~layers.#.mlp.down_proj"}},
      {"encoder.layers.#.feed_forward_norm", {"~layers.#.post_mlp_layernorm"}},
  });
}

EncoderRules nomic_bert_rules() {
  EncoderRules rules;
  rules.class_name = "NomicBert";
  rules.base_prefix = "nomic_bert";
  rules.base = nomic_bert_base();
  rules.defaults = rules.base;
  rules.own_fields_after = "layer_norm_eps";
  rules.names = nomic_bert_names();
  rules.other_layouts = {{"nomic_bert", native_names()}, {"bert", nomic_bert_names(), false}};
  rules.head_prefixes = {"cls.", "classifier."};
  rules.heads = {Head::kNone, Head::kMaskedLanguageModel, Head::kSequenceClassification, Head::kTokenClassification};
  rules.pooled_heads = {Head::kSequenceClassification};
  rules.check = check_nomic_bert;
  rules.embeddings = nomic_bert_embeddings;
  rules.stack = nomic_bert_stack;
  rules.costs = gated_costs;
  rules.lengthens = true;
  rules.check_start = refuse_rotary_start;
  rules.from_json = nomic_bert_from_json;
  rules.to_json = nomic_bert_to_json;
  return rules;
}

}  // namespace

const Family& nomic_bert_family() {
  static const EncoderRules rules = nomic_bert_rules();
  static const Family family{.name = "nomic_bert", .model_type = "nomic_bert", .encoder = &rules};
  return family;
}

}  // namespace weft::models
