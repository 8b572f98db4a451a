// SPDX-License-Identifier: Apache-2.0
// T5 (Raffel et al. 2020), 1.0 and 1.1: pre-norm by the root of the mean square, no biases, scores that are not scaled,
// and no positions but learned scores of distances in buckets, which all layers of a stack share.
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/t5/config.h"
#include "weft/models/families/t5/config_json.h"
#include "weft/models/families/t5/encoder.h"

namespace weft::models {
namespace {

EncoderDecoderConfig t5_defaults() {
  EncoderDecoderConfig config;
  config.model_type = "t5";
  config.vocab_size = 32128;
  config.d_model = 512;
  config.encoder_layers = config.decoder_layers = 6;
  config.encoder_attention_heads = config.decoder_attention_heads = 8;
  config.encoder_ffn_dim = config.decoder_ffn_dim = 2048;
  config.max_source_positions = config.max_target_positions = 16384;  // no table has so many rows: there is none
  config.position_embedding = "none";
  config.norm_position = "pre";
  config.normalize_embedding = false;
  config.attention_bias = false;
  config.encoder_attention = {};
  config.dropout = config.attention_dropout = 0.1;
  config.layer_norm_eps = 1e-6;
  config.pad_token_id = 0;
  config.eos_token_id = 1;
  config.decoder_start_token_id = 0;
  config.tokenizer_class = "huggingface";
  config.own = OwnFields(T5Fields{});
  return config;
}

std::vector<FieldName> t5_field_names() {
  return {{"vocab_size", "vocab_size"},
          {"d_model", "d_model"},
          {"encoder_layers", "num_layers"},
          {"decoder_layers", "num_decoder_layers"},
          {"encoder_attention_heads", "num_heads"},
          {"decoder_attention_heads", "num_heads"},
          {"encoder_ffn_dim", "d_ff"},
          {"decoder_ffn_dim", "d_ff"},
          {"max_source_positions", "n_positions"},
          {"max_target_positions", "n_positions"},
          {"dropout", "dropout_rate"},
          {"attention_dropout", "dropout_rate"},
          {"layer_norm_eps", "layer_norm_epsilon"},
          {"tie_word_embeddings", "tie_word_embeddings"},
          {"pad_token_id", "pad_token_id"},
          {"eos_token_id", "eos_token_id"},
          {"decoder_start_token_id", "decoder_start_token_id"},
          {"encoder_attention", "encoder_attention"},
          {"decoder_attention", "decoder_attention"},
          {"cross_attention", "cross_attention"}};
}

std::vector<NameRow> t5_names() {
  return {
      {"encoder.embeddings.tokens", {"~encoder.embed_tokens.weight"}},
      {"decoder.embeddings.tokens", {"~decoder.embed_tokens.weight"}},
      {"head", {"lm_head.weight"}},
      {"encoder.norm", {"~encoder.final_layer_norm"}},
      {"decoder.norm", {"~decoder.final_layer_norm"}},
      {"encoder.layers.#.attention.qkv",
       {"~encoder.block.#.layer.0.SelfAttention.q", "~encoder.block.#.layer.0.SelfAttention.k",
        "~encoder.block.#.layer.0.SelfAttention.v"}},
      {"encoder.layers.#.attention.output", {"~encoder.block.#.layer.0.SelfAttention.o"}},
      {"encoder.layers.#.attention.mechanism.distance_biases",
       {"~encoder.block.#.layer.0.SelfAttention.relative_attention_bias.weight"}},
      {"encoder.layers.#.attention_norm", {"~encoder.block.#.layer.0.layer_norm"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.block.#.layer.1.DenseReluDense.wi"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.block.#.layer.1.DenseReluDense.wo"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.block.#.layer.1.layer_norm"}},
      {"decoder.layers.#.attention.qkv",
       {"~decoder.block.#.layer.0.SelfAttention.q", "~decoder.block.#.layer.0.SelfAttention.k",
        "~decoder.block.#.layer.0.SelfAttention.v"}},
      {"decoder.layers.#.attention.output", {"~decoder.block.#.layer.0.SelfAttention.o"}},
      {"decoder.layers.#.attention.mechanism.distance_biases",
       {"~decoder.block.#.layer.0.SelfAttention.relative_attention_bias.weight"}},
      {"decoder.layers.#.attention_norm", {"~decoder.block.#.layer.0.layer_norm"}},
      {"decoder.layers.#.cross_attention.query", {"~decoder.block.#.layer.1.EncDecAttention.q"}},
      {"decoder.layers.#.cross_attention.key_value",
       {"~decoder.block.#.layer.1.EncDecAttention.k", "~decoder.block.#.layer.1.EncDecAttention.v"}},
      {"decoder.layers.#.cross_attention.output", {"~decoder.block.#.layer.1.EncDecAttention.o"}},
      {"decoder.layers.#.cross_attention_norm", {"~decoder.block.#.layer.1.layer_norm"}},
      {"decoder.layers.#.feed_forward.up", {"~decoder.block.#.layer.2.DenseReluDense.wi"}},
      {"decoder.layers.#.feed_forward.down", {"~decoder.block.#.layer.2.DenseReluDense.wo"}},
      {"decoder.layers.#.feed_forward_norm", {"~decoder.block.#.layer.2.layer_norm"}},
  };
}

bool has_gate(const EncoderDecoderConfig& config) { return t5_fields(config).feed_forward_proj.starts_with("gated-"); }

/// A gate is a matrix of its own in a file.
std::vector<NameRow> t5_gate_names(const EncoderDecoderConfig& config) {
  if (!has_gate(config)) {
    return {};
  }
  return {
      {"encoder.layers.#.feed_forward.up",
       {"~encoder.block.#.layer.1.DenseReluDense.wi_0", "~encoder.block.#.layer.1.DenseReluDense.wi_1"}},
      {"decoder.layers.#.feed_forward.up",
       {"~decoder.block.#.layer.2.DenseReluDense.wi_0", "~decoder.block.#.layer.2.DenseReluDense.wi_1"}},
  };
}

std::string t5_activation(const EncoderDecoderConfig& config) {
  using Names = std::pair<std::string_view, const char*>;
  static constexpr std::array<Names, 3> kGated{
      {{"gated-relu", "reglu"}, {"gated-gelu", "geglu_new"}, {"gated-silu", "swiglu"}}};
  const std::string& name = t5_fields(config).feed_forward_proj;
  for (const auto& [theirs, ours] : kGated) {
    if (name == theirs) {
      return ours;
    }
  }
  return name;
}

void check_t5(const EncoderDecoderConfig& config, std::string_view where) {
  const T5Fields& own = t5_fields(config);
  require(config.encoder_attention_heads == config.decoder_attention_heads, where, ": ", config.model_type,
          " has one num_heads for both sides, found ", config.encoder_attention_heads, " and ",
          config.decoder_attention_heads);
  require(config.encoder_ffn_dim == config.decoder_ffn_dim, where, ": ", config.model_type,
          " has one d_ff for both sides, found ", config.encoder_ffn_dim, " and ", config.decoder_ffn_dim);
  require(own.relative_attention_num_buckets % 2 == 0 &&
              own.relative_attention_max_distance > own.relative_attention_num_buckets / 2,
          where, ": relative_attention_num_buckets must be even and relative_attention_max_distance above half of it, ",
          "found ", own.relative_attention_num_buckets, " and ", own.relative_attention_max_distance);
}

void shape_t5(const EncoderDecoderConfig& config, StackConfig& stack) {
  const T5Fields& own = t5_fields(config);
  const layers::NormConfig norm{.kind = layers::NormKind::kRms, .epsilon = config.layer_norm_eps};
  for (layers::BlockConfig& block : stack.blocks) {
    block.score_factor = std::sqrt(static_cast<double>(own.d_kv));
    block.feed_forward_bias = false;
    block.inner_dropout = config.dropout;
    block.activation = t5_activation(config);
    block.norm = norm;
    block.distance_buckets = attention::DistanceBuckets{.count = own.relative_attention_num_buckets,
                                                        .farthest = own.relative_attention_max_distance};
  }
  stack.last_norm = norm;
  stack.last_dropout = config.dropout;
}

StackConfig t5_source(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = source_stack(config, options);
  shape_t5(config, stack);
  return stack;
}

StackConfig t5_target(const EncoderDecoderConfig& config) {
  StackConfig stack = target_stack(config);
  shape_t5(config, stack);
  return stack;
}

std::int64_t t5_head_size(const EncoderDecoderConfig& config) { return t5_fields(config).d_kv; }

double t5_score_scale(const EncoderDecoderConfig& config) {
  return t5_fields(config).scale_decoder_outputs ? 1.0 / std::sqrt(static_cast<double>(config.d_model)) : 1.0;
}

PairRules t5_rules() {
  PairRules rules;
  rules.class_name = "T5ForConditionalGeneration";
  rules.base_class = "T5Model";
  rules.base_prefix = "";
  rules.defaults = t5_defaults();
  rules.fields = t5_field_names();
  rules.second_names = {{"hidden_size", "d_model"},
                        {"num_hidden_layers", "num_layers"},
                        {"num_attention_heads", "num_heads"},
                        {"head_dim", "d_kv"}};
  rules.names = t5_names();
  rules.more_names = t5_gate_names;
  rules.idle_names = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias"};
  rules.has_head_bias = false;
  rules.check = check_t5;
  rules.head_size = t5_head_size;
  rules.encoder = t5_source;
  rules.decoder = t5_target;
  rules.score_scale = t5_score_scale;
  rules.from_json = t5_from_json;
  return rules;
}

}  // namespace

const Family& t5_family() {
  static const PairRules rules = t5_rules();
  static const EncoderRules encoder = encoder_of_pair(rules, "T5Encoder");
  static const Family family{.name = "t5", .model_type = "t5", .encoder = &encoder, .pair = &rules};
  return family;
}

}  // namespace weft::models
