// SPDX-License-Identifier: Apache-2.0
// Each as BERT has it, unless its name says otherwise.
#include "weft/models/families/encoder_parts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/replaced_attention.h"

namespace weft::models {
namespace {

layers::BlockConfig block_of(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  const EncoderRules& rules = encoder_rules(config);
  const std::string given = replacing_attention(config, options, layer);
  layers::BlockConfig block;
  block.layer = layer;
  block.hidden_size = config.hidden_size;
  block.heads = config.num_attention_heads;
  block.key_value_heads = key_value_heads(config);
  block.intermediate_size = config.intermediate_size;
  block.maximum_length = config.max_position_embeddings;
  block.attention = given.empty() ? rules.attention(config, options, layer) : given;
  // What was asked for beside the config names files where it was asked.
  block.directory = options.attention.empty() ? config.directory : std::filesystem::path();
  block.self_attention = rules.self_attention(config, options, !given.empty());
  block.activation = config.hidden_act;
  block.norm_first = false;
  block.norm.epsilon = config.layer_norm_eps;
  block.dropout = config.hidden_dropout_prob;
  block.attention_dropout = config.attention_probs_dropout_prob;
  return block;
}

/// For messages, which keep a reference to it.
std::string_view how_to_have_no_positions(const EncoderRules& rules) {
  static const std::string others = concat("as ", encoders_with("position_embedding_type"), " can be");
  return rules.has_field("position_embedding_type") ? "position_embedding_type none" : std::string_view(others);
}

}  // namespace

std::vector<NameRow> with_encoder_names(std::vector<NameRow> own) {
  std::vector<NameRow> names = {
      {"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
      {"encoder.embeddings.positions", {"~embeddings.position_embeddings.weight"}},
      {"encoder.embeddings.token_types", {"~embeddings.token_type_embeddings.weight"}},
      {"encoder.embeddings.norm", {"~embeddings.LayerNorm"}},
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layer.#.attention.self.query", "~encoder.layer.#.attention.self.key",
        "~encoder.layer.#.attention.self.value"}},
      {"encoder.layers.#.attention.output", {"~encoder.layer.#.attention.output.dense"}},
      {"encoder.layers.#.attention_norm", {"~encoder.layer.#.attention.output.LayerNorm"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.layer.#.intermediate.dense"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.layer.#.output.dense"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.layer.#.output.LayerNorm"}},
  };
  names.insert(names.end(), own.begin(), own.end());
  return names;
}

void check_heads(const EncoderConfig& config, std::string_view where) {
  require(config.hidden_size % config.num_attention_heads == 0, where, ": hidden_size ", config.hidden_size,
          " is not divisible by num_attention_heads ", config.num_attention_heads);
}

layers::EmbeddingsConfig bert_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.hidden_size;
  embeddings.maximum_length = config.max_position_embeddings;
  embeddings.positions =
      config.position_embedding_type == "absolute" ? layers::PositionKind::kLearned : layers::PositionKind::kNone;
  embeddings.norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  embeddings.dropout = config.hidden_dropout_prob;
  embeddings.token_types = encoder_rules(config).has_field("type_vocab_size") ? config.type_vocab_size : 0;
  embeddings.padding_id = config.pad_token_id;
  return embeddings;
}

std::string full_attention(const EncoderConfig&, const EncoderOptions&, std::int64_t) { return "full"; }
layers::SelfAttentionFactory plain_layer(const EncoderConfig&, const EncoderOptions&, bool) { return {}; }

StackConfig transformer_stack(const EncoderConfig& config, const EncoderOptions& options) {
  const EncoderRules& rules = encoder_rules(config);
  StackConfig stack;
  stack.embeddings = rules.embeddings(config);
  stack.no_positions = how_to_have_no_positions(rules);
  stack.blocks.reserve(static_cast<std::size_t>(config.num_hidden_layers));
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    stack.blocks.push_back(block_of(config, options, layer));
  }
  return stack;
}

HeadPlan bert_head(const EncoderConfig& config) {
  const bool own_rate = config.classifier_dropout >= 0 && encoder_rules(config).has_field("classifier_dropout");
  HeadPlan plan;
  plan.width = config.hidden_size;
  plan.norm.epsilon = config.layer_norm_eps;
  plan.vocabulary_activation = config.hidden_act;
  plan.class_activation = config.hidden_act;
  plan.class_dropout = own_rate ? config.classifier_dropout : config.hidden_dropout_prob;
  plan.tag_dropout = plan.class_dropout;
  plan.choice_dropout = plan.class_dropout;
  return plan;
}

HeadPlan first_token_head(const EncoderConfig& config) {
  HeadPlan plan = bert_head(config);
  plan.classifier = Classifier::kDense;
  plan.choice_dropout = config.hidden_dropout_prob;  // BERT alone drops there by its classifier's rate
  return plan;
}

Initializer normal_values(const EncoderConfig& config) { return {.range = config.initializer_range}; }

PassSettings one_pass(const EncoderConfig& config, const EncoderOptions& options) {
  PassSettings settings;
  settings.pad_like_hf = options.pad_like_hf;
  settings.padding_id = config.pad_token_id;
  settings.position_rows = config.max_position_embeddings;
  return settings;
}

Costs transformer_costs(const EncoderConfig& config) {
  const std::int64_t width = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  return {inner, {{width, 3 * width}, {width, width}, {width, inner}, {inner, width}}};
}

Costs gated_costs(const EncoderConfig& config) {
  const std::int64_t width = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  return {3 * inner, {{width, 3 * width}, {width, width}, {width, 2 * inner}, {inner, width}}};
}

std::string gated_activation(const EncoderConfig& config) {
  using Names = std::pair<std::string_view, std::string_view>;
  constexpr std::array kGated{Names{"gelu", "geglu"}, Names{"relu", "reglu"}, Names{"silu", "swiglu"},
                              Names{"swish", "swiglu"}};
  const auto* const found =
      std::find_if(kGated.begin(), kGated.end(), [&](const Names& names) { return names.first == config.hidden_act; });
  return std::string(found == kGated.end() ? "geglu_new" : found->second);  // by all the names of its approximation
}

void complete_nothing(EncoderBatch&, const EncoderConfig&, Head, const EncoderInput&, const at::Tensor&) {}
void adapt_nothing(EncoderConfig&) {}
at::Tensor no_first_value(const std::string&, const at::Tensor&, const EncoderModel&) { return {}; }
void accept_as_start(const EncoderConfig&) {}

void fit_token(std::int64_t& id, std::string_view field, const formats::Json& given,
               const text::HuggingFaceTokenizer& tokenizer, std::initializer_list<text::SpecialRole> roles) {
  if (given.contains(field)) {
    return;
  }
  id = -1;
  for (const text::SpecialRole role : roles) {
    if (const auto found = tokenizer.special(role)) {
      id = *found;
      return;
    }
  }
}

void check_rotation(const EncoderConfig& config, std::string_view where) {
  require(config.head_dim() % 2 == 0, where, ": rotary positions turn pairs of columns: expected an even number for ",
          "each of ", config.num_attention_heads, " heads, found ", config.head_dim(), " of hidden_size ",
          config.hidden_size);
}

void refuse_start(const EncoderConfig& config, std::string_view because) {
  throw Error(ErrorKind::kUnsupported,
              concat("an encoder-decoder cannot start from a ", config.model_type, ": ", because),
              "start from a bert, roberta or big_bird");
}

void refuse_rotary_start(const EncoderConfig& config) {
  refuse_start(config, "its positions are rotary, and those of an encoder-decoder a table");
}

}  // namespace weft::models
