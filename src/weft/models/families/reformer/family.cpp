// SPDX-License-Identifier: Apache-2.0
// Reformer (Kitaev et al. 2020) as an encoder with a head for a task: local and hashed layers between reversible
// residual connections, whose two streams end beside each other. Its stack is that of Weft's own models.
#include "weft/core/error.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/reformer/config.h"
#include "weft/models/families/reformer/decoder.h"
#include "weft/models/families/reformer/encoder_config_json.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

const ReformerEncoderFields& own_of(const EncoderConfig& config) { return config.own.get<ReformerEncoderFields>(); }

void check_reformer(const EncoderConfig& config, std::string_view where) { validate(reformer_body(config, {}), where); }

StackConfig reformer_stack(const EncoderConfig& config, const EncoderOptions& options) {
  return stack_config(reformer_body(config, options));
}

layers::EmbeddingsConfig reformer_embeddings(const EncoderConfig& config) {
  return stack_config(own_of(config).body).embeddings;
}

HeadPlan reformer_head(const EncoderConfig& config) {
  HeadPlan plan = first_token_head(config);
  plan.width = own_of(config).body.output_size();
  plan.dense_vocabulary = false;
  plan.vocabulary_activation = "gelu";
  plan.class_activation = "tanh";
  return plan;
}

void refuse_reformer(const EncoderConfig& config) {
  fail(ErrorKind::kUnsupported, "an encoder-decoder cannot start from a ", config.model_type,
       ": its residual connections have two streams, and those of an encoder-decoder one");
}

// Of a decoder's head, too: there it is called head.weight.
std::vector<NameRow> reformer_names() {
  return {
      {"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
      {"encoder.embeddings.positions", {"~embeddings.position_embeddings.embedding.weight"}},
      {"encoder.embeddings.axial.rows", {"~embeddings.position_embeddings.weights.0"}},
      {"encoder.embeddings.axial.columns", {"~embeddings.position_embeddings.weights.1"}},
      {"encoder.layers.#.attention_norm", {"~encoder.layers.#.attention.layer_norm"}},
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layers.#.attention.self_attention.query", "~encoder.layers.#.attention.self_attention.key",
        "~encoder.layers.#.attention.self_attention.value"}},
      {"encoder.layers.#.attention.query_key", {"~encoder.layers.#.attention.self_attention.query_key"}},
      {"encoder.layers.#.attention.value", {"~encoder.layers.#.attention.self_attention.value"}},
      {"encoder.layers.#.attention.output", {"~encoder.layers.#.attention.output.dense"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.layers.#.feed_forward.layer_norm"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.layers.#.feed_forward.dense.dense"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.layers.#.feed_forward.output.dense"}},
      {"encoder.norm", {"~encoder.layer_norm"}},
      {"head.decoder", {"lm_head.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.weight", {"lm_head.decoder.weight"}, Head::kMaskedLanguageModel},
      {.weft = "head.bias",
       .parts = {"lm_head.bias"},
       .head = Head::kMaskedLanguageModel,
       .other = "lm_head.decoder.bias"},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
  };
}

EncoderRules reformer_rules() {
  EncoderRules rules;
  rules.class_name = "Reformer";
  rules.base_prefix = "reformer";
  rules.names = reformer_names();
  rules.head_prefixes = {"lm_head.", "classifier.", "qa_outputs."};
  rules.base.model_type = "reformer";
  rules.base.own = OwnFields(ReformerEncoderFields{});
  rules.defaults = rules.base;
  rules.heads = {Head::kNone, Head::kMaskedLanguageModel, Head::kSequenceClassification, Head::kQuestionAnswering};
  rules.check = check_reformer;
  rules.embeddings = reformer_embeddings;
  rules.stack = reformer_stack;
  rules.head = reformer_head;
  rules.check_start = refuse_reformer;
  // Constants in old files.
  rules.idle_names.emplace_back("encoder.layers.#.attention.self_attention.mask_value_float");
  rules.idle_names.emplace_back("encoder.layers.#.attention.self_attention.self_mask_value_float");
  rules.from_json = reformer_encoder_from_json;
  rules.to_json = reformer_encoder_to_json;
  return rules;
}

}  // namespace

const Family& reformer_family() {
  static const EncoderRules rules = reformer_rules();
  static const Family family{
      .name = "reformer", .model_type = "reformer", .encoder = &rules, .causal = &reformer_causal_rules()};
  return family;
}

EncoderConfig reformer_config(const TransformerConfig& body) {
  EncoderConfig config;
  config.model_type = reformer_family().name;
  config.vocab_size = body.vocab_size;
  config.hidden_size = body.hidden_size;
  config.num_hidden_layers = body.num_hidden_layers;
  config.num_attention_heads = body.num_attention_heads;
  config.intermediate_size = body.feed_forward_size();
  config.max_position_embeddings = body.max_position_embeddings;
  config.type_vocab_size = 1;
  config.sep_token_id = -1;
  config.layer_norm_eps = body.layer_norm_eps;
  config.hidden_dropout_prob = body.hidden_dropout_prob;
  config.attention_probs_dropout_prob = body.attention_probs_dropout_prob;
  config.initializer_range = body.initializer_range;
  config.tie_word_embeddings = body.tie_word_embeddings;
  config.directory = body.directory;
  config.own = OwnFields(ReformerEncoderFields{body});
  return config;
}

TransformerConfig reformer_body(const EncoderConfig& config, const EncoderOptions& options) {
  TransformerConfig body = own_of(config).body;
  if (!options.attention.empty()) {
    body.attention = {options.attention};
    body.directory.clear();
  } else if (!config.attention.empty()) {
    body.attention = config.attention;
    body.directory = config.directory;
  }
  return body;
}

}  // namespace weft::models
