// SPDX-License-Identifier: Apache-2.0
// An encoder's config becomes that of an encoder-decoder, whose first stack it is.
#include "weft/models/families/t5/encoder.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "weft/models/families/t5/config.h"

namespace weft::models {
namespace {

const PairRules& pair_of(const EncoderConfig& config) { return *find_family(config.model_type)->pair; }

EncoderDecoderConfig as_pair(const EncoderConfig& config) {
  EncoderDecoderConfig pair = pair_of(config).defaults;
  pair.vocab_size = config.vocab_size;
  pair.d_model = config.hidden_size;
  pair.encoder_layers = pair.decoder_layers = config.num_hidden_layers;
  pair.encoder_attention_heads = pair.decoder_attention_heads = config.num_attention_heads;
  pair.encoder_ffn_dim = pair.decoder_ffn_dim = config.intermediate_size;
  pair.max_source_positions = pair.max_target_positions = config.max_position_embeddings;
  pair.dropout = config.hidden_dropout_prob;
  pair.attention_dropout = config.attention_probs_dropout_prob;
  pair.layer_norm_eps = config.layer_norm_eps;
  pair.pad_token_id = config.pad_token_id;
  pair.eos_token_id = config.eos_token_id;
  pair.encoder_attention = config.attention;
  pair.own = config.own;
  pair.directory = config.directory;
  return pair;
}

EncoderConfig as_encoder(const EncoderDecoderConfig& pair) {
  EncoderConfig config;
  config.model_type = pair.model_type;
  config.vocab_size = pair.vocab_size;
  config.hidden_size = pair.d_model;
  config.num_hidden_layers = pair.encoder_layers;
  config.num_attention_heads = pair.encoder_attention_heads;
  config.intermediate_size = pair.encoder_ffn_dim;
  config.max_position_embeddings = pair.max_source_positions;
  config.type_vocab_size = 1;
  config.pad_token_id = pair.pad_token_id;
  config.sep_token_id = -1;
  config.eos_token_id = pair.eos_token_id;
  config.layer_norm_eps = pair.layer_norm_eps;
  config.hidden_dropout_prob = pair.dropout;
  config.attention_probs_dropout_prob = pair.attention_dropout;
  config.own = pair.own;
  return config;
}

/// What a gate and the attention are called in files, one form each.
struct Form {
  const char* feed_forward;
  const char* attention;
};
constexpr std::array kForms{Form{"relu", "local"}, Form{"gated-gelu", "local"}, Form{"relu", "transient-global"},
                            Form{"gated-gelu", "transient-global"}};

std::size_t forms_of(const EncoderDecoderConfig& config) {
  return config.own.is<LongT5Fields>() ? kForms.size() : kForms.size() / 2;
}

std::size_t form_of(const EncoderDecoderConfig& config) {
  const bool has_gate = t5_fields(config).feed_forward_proj.starts_with("gated-");
  const bool has_sums =
      config.own.is<LongT5Fields>() && config.own.get<LongT5Fields>().encoder_attention_type != "local";
  return (has_gate ? 1U : 0U) + (has_sums ? 2U : 0U);
}

std::vector<NameRow> names_of_form(const PairRules& pair, const Form& form) {
  EncoderDecoderConfig config = pair.defaults;
  if (config.own.is<LongT5Fields>()) {
    auto& own = config.own.get<LongT5Fields>();
    own.feed_forward_proj = form.feed_forward;
    own.encoder_attention_type = form.attention;
  } else {
    config.own.get<T5Fields>().feed_forward_proj = form.feed_forward;
  }
  constexpr std::string_view kTokens = "encoder.embeddings.tokens";
  std::vector<NameRow> names = {{.weft = kTokens, .parts = {"~shared.weight"}, .other = "encoder.embed_tokens.weight"}};
  const std::vector<NameRow> both = pair.rows_of(config);
  std::copy_if(both.begin(), both.end(), std::back_inserter(names),
               [&](const NameRow& row) { return row.weft.starts_with("encoder.") && row.weft != kTokens; });
  return names;
}

void check_encoder_of_pair(const EncoderConfig& config, std::string_view where) {
  pair_of(config).check(as_pair(config), where);
}

StackConfig stack_of_pair(const EncoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = pair_of(config).encoder(as_pair(config), options);
  stack.length_field = "n_positions";
  stack.attention_field = "attention";
  return stack;
}

layers::EmbeddingsConfig embeddings_of_pair(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.positions = layers::PositionKind::kNone;
  embeddings.norm.reset();
  return embeddings;
}

std::string attention_of_pair(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  return pair_of(config).encoder_attention(as_pair(config), options, layer);
}

Costs costs_of_pair(const EncoderConfig& config) {
  const EncoderDecoderConfig pair = as_pair(config);
  const std::int64_t width = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  const std::int64_t columns = config.num_attention_heads * pair_of(config).head_size(pair);
  const bool has_gate = t5_fields(pair).feed_forward_proj.starts_with("gated-");
  return {(has_gate ? 3 : 1) * inner,
          {{width, 3 * columns}, {columns, width}, {width, (has_gate ? 2 : 1) * inner}, {inner, width}}};
}

void refuse_encoder_of_pair(const EncoderConfig& config) {
  refuse_start(config, "its layers know positions by learned scores of distances");
}

EncoderConfig encoder_of_pair_from_json(const formats::Json& json, std::string_view where,
                                        const std::filesystem::path& directory) {
  formats::Json known = json;
  known.erase("is_encoder_decoder");  // of the model that it is the encoder of
  EncoderConfig config = encoder_fields_from_json(known, where, directory);
  config.layout = form_of(as_pair(config));
  return config;
}

formats::Json encoder_of_pair_to_json(const EncoderConfig& config, Head head) {
  formats::Json json = encoder_fields_to_json(config, head);
  json["is_encoder_decoder"] = false;
  return json;
}

}  // namespace

EncoderRules encoder_of_pair(const PairRules& pair, std::string_view class_name) {
  EncoderRules rules;
  rules.class_name = class_name;
  rules.base_prefix = "transformer";  // below heads, none of which is here
  rules.base = rules.defaults = as_encoder(pair.defaults);
  rules.names = names_of_form(pair, kForms.front());
  for (std::size_t form = 1; form < forms_of(pair.defaults); ++form) {
    rules.other_layouts.push_back({.base_prefix = rules.base_prefix, .names = names_of_form(pair, kForms.at(form))});
  }
  rules.idle_names = {"encoder.embed_tokens.weight"};  // a copy of the table
  rules.fields = {{"hidden_size", "d_model"},
                  {"num_hidden_layers", "num_layers"},
                  {"num_attention_heads", "num_heads"},
                  {"intermediate_size", "d_ff"},
                  {"max_position_embeddings", "n_positions"},
                  {"type_vocab_size", {}},
                  {"sep_token_id", {}},
                  {"bos_token_id", {}},
                  {"hidden_act", {}},
                  {"layer_norm_eps", "layer_norm_epsilon"},
                  {"hidden_dropout_prob", "dropout_rate"},
                  {"attention_probs_dropout_prob", "dropout_rate"},
                  {"classifier_dropout", {}},
                  {"initializer_range", {}},
                  {"tie_word_embeddings", {}},
                  {"position_embedding_type", {}}};
  rules.own_fields_after = "vocab_size";
  rules.heads = {Head::kNone};
  rules.pretrained_head = Head::kNone;
  rules.check = check_encoder_of_pair;
  rules.embeddings = embeddings_of_pair;
  rules.attention = attention_of_pair;
  rules.stack = stack_of_pair;
  rules.costs = costs_of_pair;
  rules.check_start = refuse_encoder_of_pair;
  rules.from_json = encoder_of_pair_from_json;
  rules.to_json = encoder_of_pair_to_json;
  return rules;
}

}  // namespace weft::models
