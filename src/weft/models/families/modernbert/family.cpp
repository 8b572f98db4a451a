// SPDX-License-Identifier: Apache-2.0
// ModernBERT (Warner et al. 2024): norms first, rotary positions, a gate in each feed-forward; one layer in three sees
// the whole text and the others a window, each kind with a rotary base of its own. Heads begin with the layers that its
// masked words have.
#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/modernbert/config.h"
#include "weft/models/families/modernbert/config_json.h"
#include "weft/models/families/rows.h"
#include "weft/text/hugging_face.h"

namespace weft::models {
namespace {

const ModernbertFields& modern_of(const EncoderConfig& config) { return config.own.get<ModernbertFields>(); }

EncoderConfig modernbert_base() {
  EncoderConfig config;
  config.model_type = "modernbert";
  config.vocab_size = 50368;
  config.num_hidden_layers = 22;
  config.intermediate_size = 1152;
  config.max_position_embeddings = 8192;
  config.type_vocab_size = 1;
  config.layer_norm_eps = 1e-5;
  config.hidden_dropout_prob = 0.0;
  config.attention_probs_dropout_prob = 0.0;
  config.classifier_dropout = 0.0;
  config.pad_token_id = 50283;
  config.sep_token_id = 50282;
  config.bos_token_id = 50281;
  config.eos_token_id = 50282;
  config.own = OwnFields(ModernbertFields{});
  return config;
}

void check_modernbert(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  check_rotation(config, where);
  const std::vector<std::string>& kinds = modern_of(config).layer_types;
  require(kinds.empty() || std::ssize(kinds) == config.num_hidden_layers, where, ": layer_types lists ", kinds.size(),
          " layers, but num_hidden_layers is ", config.num_hidden_layers);
  const auto other = std::find_if_not(kinds.begin(), kinds.end(), ModernbertFields::is_layer_type);
  require(other == kinds.end(), where, ": layer_types must be ", ModernbertFields::kFull, " or ",
          ModernbertFields::kSliding, ", found ", [&] { return quote(*other); });
}

std::string modernbert_attention(const EncoderConfig& config, const EncoderOptions&, std::int64_t layer) {
  const ModernbertFields& own = modern_of(config);
  return own.is_full(layer) ? "full" : concat("window(", own.local_attention, ")");
}

layers::NormConfig norm_of(const EncoderConfig& config) {
  return {.bias = modern_of(config).norm_bias, .epsilon = config.layer_norm_eps};
}

layers::EmbeddingsConfig modernbert_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.positions = layers::PositionKind::kNone;
  embeddings.norm = norm_of(config);
  return embeddings;
}

StackConfig modernbert_stack(const EncoderConfig& config, const EncoderOptions& options) {
  const ModernbertFields& own = modern_of(config);
  StackConfig stack = transformer_stack(config, options);
  for (layers::BlockConfig& block : stack.blocks) {
    block.norm_first = true;
    block.norm = norm_of(config);
    block.qkv_bias = block.output_bias = own.attention_bias;
    block.feed_forward_bias = own.mlp_bias;
    block.activation = gated_activation(config);
    block.rope_theta = own.theta_of(block.layer);
    block.dropout = 0.0;
    block.attention_output_dropout = config.attention_probs_dropout_prob;
    block.inner_dropout = own.mlp_dropout;
  }
  if (!stack.blocks.empty()) {  // the embeddings end in a norm
    stack.blocks.front().attention_norm = layers::NormConfig{.kind = layers::NormKind::kNone};
  }
  stack.last_norm = norm_of(config);
  return stack;
}

HeadPlan modernbert_head(const EncoderConfig& config) {
  const ModernbertFields& own = modern_of(config);
  HeadPlan plan = bert_head(config);
  plan.classifier = Classifier::kTransformed;
  plan.pooling = own.classifier_pooling == "mean" ? Pooling::kMean : Pooling::kFirst;
  plan.vocabulary_activation = own.classifier_activation;
  plan.dense_bias = own.classifier_bias;
  plan.vocabulary_bias = own.decoder_bias;
  plan.norm = norm_of(config);
  plan.answer_dropout = plan.class_dropout;
  return plan;
}

Initializer modernbert_values(const EncoderConfig& config) {
  Initializer initializer = normal_values(config);
  initializer.cutoff = modern_of(config).initializer_cutoff_factor;
  initializer.residual_divisor =
      std::sqrt(2.0 * static_cast<double>(std::max<std::int64_t>(1, config.num_hidden_layers)));
  const double out = initializer.range / initializer.residual_divisor;
  initializer.ranges = {{"head.dense.weight", out},
                        {"head.decoder", out},
                        {"head.projection.weight", 1.0 / std::sqrt(static_cast<double>(config.hidden_size))}};
  return initializer;
}

/// Texts begin and end with the tokens that classifiers and pairs have.
void fit_modernbert(EncoderConfig& config, const text::HuggingFaceTokenizer& tokenizer, const formats::Json& given) {
  fit_token(config.own.get<ModernbertFields>().cls_token_id, "cls_token_id", given, tokenizer,
            {text::SpecialRole::kClass});
  fit_token(config.bos_token_id, "bos_token_id", given, tokenizer, {text::SpecialRole::kClass});
  fit_token(config.eos_token_id, "eos_token_id", given, tokenizer, {text::SpecialRole::kSeparator});
}

EncoderRules modernbert_rules() {
  EncoderRules rules{.class_name = "ModernBert", .base_prefix = "model"};
  rules.base = modernbert_base();
  rules.defaults = rules.base;
  rules.fields = {{"hidden_act", "hidden_activation"},
                  {"layer_norm_eps", "norm_eps"},
                  {"hidden_dropout_prob", "embedding_dropout"},
                  {"attention_probs_dropout_prob", "attention_dropout"},
                  {"position_embedding_type", {}},
                  {"type_vocab_size", {}}};
  rules.idle_names = {};
  rules.head_prefixes = {"head.", "decoder.", "classifier."};
  rules.attention_fields = {"local_attention"};
  rules.names = {
      {"encoder.embeddings.tokens", {"~embeddings.tok_embeddings.weight"}},
      {"encoder.embeddings.norm", {"~embeddings.norm"}},
      {"encoder.layers.#.attention_norm", {"~layers.#.attn_norm"}},
      {"encoder.layers.#.attention.qkv", {"~layers.#.attn.Wqkv"}},
      {"encoder.layers.#.attention.output", {"~layers.#.attn.Wo"}},
      {"encoder.layers.#.feed_forward_norm", {"~layers.#.mlp_norm"}},
      {"encoder.layers.#.feed_forward.up", {"~layers.#.mlp.Wi"}},
      {"encoder.layers.#.feed_forward.down", {"~layers.#.mlp.Wo"}},
      {"encoder.norm", {"~final_norm"}},
      {"head.dense", {"head.dense"}},
      {"head.norm", {"head.norm"}},
      {"head.bias", {"decoder.bias"}},
      {"head.decoder", {"decoder.weight"}},
      {"head.projection", {"classifier"}},
  };
  rules.check = check_modernbert;
  rules.embeddings = modernbert_embeddings;
  rules.attention = modernbert_attention;
  rules.stack = modernbert_stack;
  rules.head = modernbert_head;
  rules.initializer = modernbert_values;
  rules.costs = gated_costs;
  rules.lengthens = true;
  rules.fit = fit_modernbert;
  rules.check_start = refuse_rotary_start;
  rules.from_json = modernbert_from_json;
  rules.to_json = modernbert_to_json;
  return rules;
}

}  // namespace

const Family& modernbert_family() {
  static const EncoderRules rules = modernbert_rules();
  static const Family family{.name = "modernbert", .model_type = "modernbert", .encoder = &rules};
  return family;
}

}  // namespace weft::models
