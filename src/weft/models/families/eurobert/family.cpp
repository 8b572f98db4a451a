// SPDX-License-Identifier: Apache-2.0
// EuroBERT (Boizard et al. 2025): the layers of Llama, which see both sides: norms first, rotary positions, heads that
// share keys and values, a gate in each feed-forward.
#include "weft/core/error.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/eurobert/config.h"
#include "weft/models/families/eurobert/config_json.h"
#include "weft/models/families/rows.h"
#include "weft/text/hugging_face.h"

namespace weft::models {
namespace {

const EurobertFields& euro_of(const EncoderConfig& config) { return config.own.get<EurobertFields>(); }

EncoderConfig eurobert_base() {
  EncoderConfig config;
  config.model_type = "eurobert";
  config.vocab_size = 128256;
  config.max_position_embeddings = 8192;
  config.type_vocab_size = 1;
  config.pad_token_id = 128001;
  config.bos_token_id = 128000;
  config.eos_token_id = 128001;
  config.hidden_act = "silu";
  config.layer_norm_eps = 1e-5;
  config.hidden_dropout_prob = 0.0;
  config.attention_probs_dropout_prob = 0.0;
  config.tie_word_embeddings = false;
  config.own = OwnFields(EurobertFields{});
  return config;
}

EncoderConfig eurobert_defaults() {
  EncoderConfig config = eurobert_base();
  config.own.get<EurobertFields>().rope_theta = 10000.0;
  return config;
}

std::int64_t eurobert_head_size(const EncoderConfig& config) {
  return euro_of(config).head_dim > 0 ? euro_of(config).head_dim : config.head_dim();
}

std::int64_t eurobert_key_value_heads(const EncoderConfig& config) {
  const std::int64_t given = euro_of(config).num_key_value_heads;
  return given > 0 ? given : config.num_attention_heads;
}

void check_eurobert(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  const std::int64_t shared = eurobert_key_value_heads(config);
  require(config.num_attention_heads % shared == 0, where, ": num_attention_heads ", config.num_attention_heads,
          " is not divisible by num_key_value_heads ", shared);
  const std::int64_t columns = eurobert_head_size(config);
  require(columns % 2 == 0, where, ": rotary positions turn pairs of columns: expected an even number for each of ",
          config.num_attention_heads, " heads, found ", columns);
}

layers::NormConfig eurobert_norm(const EncoderConfig& config) {
  return {.kind = layers::NormKind::kRms, .epsilon = config.layer_norm_eps};
}

layers::EmbeddingsConfig eurobert_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.positions = layers::PositionKind::kNone;
  embeddings.norm.reset();
  return embeddings;
}

StackConfig eurobert_stack(const EncoderConfig& config, const EncoderOptions& options) {
  const EurobertFields& own = euro_of(config);
  StackConfig stack = transformer_stack(config, options);
  for (layers::BlockConfig& block : stack.blocks) {
    block.norm_first = true;
    block.norm = eurobert_norm(config);
    block.head_size = eurobert_head_size(config);
    block.qkv_bias = block.output_bias = own.attention_bias;
    block.feed_forward_bias = own.mlp_bias;
    block.activation = gated_activation(config);
    block.rope_theta = own.rope_theta;
  }
  stack.last_norm = eurobert_norm(config);
  return stack;
}

HeadPlan eurobert_head(const EncoderConfig& config) {
  const EurobertFields& own = euro_of(config);
  HeadPlan plan = bert_head(config);
  plan.classifier = Classifier::kDense;
  plan.pooling = own.classifier_pooling == "late"   ? Pooling::kScores
                 : own.classifier_pooling == "mean" ? Pooling::kMean
                                                    : Pooling::kFirst;
  plan.class_activation = "gelu";
  plan.dense_vocabulary = false;
  plan.vocabulary_bias = own.mlp_bias;
  return plan;
}

Costs eurobert_costs(const EncoderConfig& config) {
  const std::int64_t width = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  const std::int64_t columns = eurobert_head_size(config);
  const std::int64_t queries = config.num_attention_heads * columns;
  const std::int64_t pairs = 2 * eurobert_key_value_heads(config) * columns;
  return {3 * inner, {{width, queries + pairs}, {queries, width}, {width, 2 * inner}, {inner, width}}};
}

/// Texts begin with one token and end with another, which pads them, too.
void fit_eurobert(EncoderConfig& config, const text::HuggingFaceTokenizer& tokenizer, const formats::Json& given) {
  fit_token(config.bos_token_id, "bos_token_id", given, tokenizer,
            {text::SpecialRole::kBegin, text::SpecialRole::kClass});
  fit_token(config.eos_token_id, "eos_token_id", given, tokenizer,
            {text::SpecialRole::kEnd, text::SpecialRole::kSeparator});
  fit_token(config.own.get<EurobertFields>().mask_token_id, "mask_token_id", given, tokenizer,
            {text::SpecialRole::kMask});
}

EncoderRules eurobert_rules() {
  EncoderRules rules{.class_name = "EuroBert", .base_prefix = "model"};
  rules.base = eurobert_base();
  rules.defaults = eurobert_defaults();
  rules.fields = {{"layer_norm_eps", "rms_norm_eps"},
                  {"attention_probs_dropout_prob", "attention_dropout"},
                  {"hidden_dropout_prob", {}},
                  {"classifier_dropout", {}},
                  {"position_embedding_type", {}},
                  {"type_vocab_size", {}},
                  {"sep_token_id", {}}};
  rules.idle_names = {};
  rules.heads = {Head::kNone, Head::kMaskedLanguageModel, Head::kSequenceClassification, Head::kTokenClassification};
  rules.head_prefixes = {"lm_head.", "dense.", "classifier."};
  rules.names = {
      {"encoder.embeddings.tokens", {"~embed_tokens.weight"}},
      {"encoder.layers.#.attention_norm", {"~layers.#.input_layernorm"}},
      {"encoder.layers.#.attention.qkv",
       {"~layers.#.self_attn.q_proj", "~layers.#.self_attn.k_proj", "~layers.#.self_attn.v_proj"}},
      {"encoder.layers.#.attention.output", {"~layers.#.self_attn.o_proj"}},
      {"encoder.layers.#.feed_forward_norm", {"~layers.#.post_attention_layernorm"}},
      {"encoder.layers.#.feed_forward.up", {"~layers.#.mlp.gate_proj", "~layers.#.mlp.up_proj"}},
      {"encoder.layers.#.feed_forward.down", {"~layers.#.mlp.down_proj"}},
      {"encoder.norm", {"~norm"}},
      {"head.bias", {"lm_head.bias"}},
      {"head.decoder", {"lm_head.weight"}},
      {"head.dense", {"dense"}},
      {"head.projection", {"classifier"}},
  };
  rules.check = check_eurobert;
  rules.embeddings = eurobert_embeddings;
  rules.key_value_heads = eurobert_key_value_heads;
  rules.stack = eurobert_stack;
  rules.head = eurobert_head;
  rules.costs = eurobert_costs;
  rules.lengthens = true;
  rules.fit = fit_eurobert;
  rules.check_start = refuse_rotary_start;
  rules.from_json = eurobert_from_json;
  rules.to_json = eurobert_to_json;
  return rules;
}

}  // namespace

const Family& eurobert_family() {
  static const EncoderRules rules = eurobert_rules();
  static const Family family{.name = "eurobert", .model_type = "eurobert", .encoder = &rules};
  return family;
}

}  // namespace weft::models
