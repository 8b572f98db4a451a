// SPDX-License-Identifier: Apache-2.0
// GPT-2's fields, and what of Weft's models it has not.
#include "weft/models/families/gpt2/config_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/formats/json_members.h"
#include "weft/models/families/causal_variant.h"
#include "weft/models/families/json/hugging_face_fields.h"
#include "weft/models/families/require_supported.h"

namespace weft::models {
namespace {

using formats::Json;

/// Those that say what the model is, with the defaults of GPT2Config. n_inner 0 is null there.
struct Gpt2Fields {
  std::int64_t vocab_size = 50257;
  std::int64_t n_positions = 1024;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::int64_t n_inner = 0;
  std::string activation_function = "gelu_new";
  double resid_pdrop = 0.1;
  double embd_pdrop = 0.1;
  double attn_pdrop = 0.1;
  double layer_norm_epsilon = 1e-5;
  double initializer_range = 0.02;
  bool scale_attn_weights = true;
  bool scale_attn_by_inverse_layer_idx = false;
  bool add_cross_attention = false;
  bool tie_word_embeddings = true;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = Gpt2Fields;
    visit(Field{"vocab_size", &C::vocab_size, ""}.range(1, 1 << 24));
    visit(Field{"n_positions", &C::n_positions, ""}.range(1, 1 << 24));
    visit(Field{"n_embd", &C::n_embd, ""}.range(1, 1 << 18));
    visit(Field{"n_layer", &C::n_layer, ""}.range(1, 4096));
    visit(Field{"n_head", &C::n_head, ""}.range(1, 4096));
    visit(Field{"n_inner", &C::n_inner, ""}.range(0, 1 << 20));
    visit(Field{"activation_function", &C::activation_function, ""});
    visit(Field{"resid_pdrop", &C::resid_pdrop, ""}.range(0.0, 0.999));
    visit(Field{"embd_pdrop", &C::embd_pdrop, ""}.range(0.0, 0.999));
    visit(Field{"attn_pdrop", &C::attn_pdrop, ""}.range(0.0, 0.999));
    visit(Field{"layer_norm_epsilon", &C::layer_norm_epsilon, ""}.range(1e-12, 1.0));
    visit(Field{"initializer_range", &C::initializer_range, ""}.range(0.0, 10.0));
    visit(Field{"scale_attn_weights", &C::scale_attn_weights, ""});
    visit(Field{"scale_attn_by_inverse_layer_idx", &C::scale_attn_by_inverse_layer_idx, ""});
    visit(Field{"add_cross_attention", &C::add_cross_attention, ""});
    visit(Field{"tie_word_embeddings", &C::tie_word_embeddings, ""});
  }
};

/// Of `hidden_size` and so on, which GPT2Config has for its own.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kGpt2SecondNames{
    {{"hidden_size", "n_embd"},
     {"max_position_embeddings", "n_positions"},
     {"num_attention_heads", "n_head"},
     {"num_hidden_layers", "n_layer"}}};
constexpr std::array<std::string_view, 2> kGpt2Classes{"GPT2LMHeadModel", "GPT2Model"};
/// Where Weft wrote it: the attention of the layers, where it is not full.
constexpr const char* kAttentionMember = "attention";
constexpr std::int64_t kReleasedVocabulary = 50257;  // whose last id begins and ends texts

void check_gpt2_class(const Json& json, const std::string& where) {
  const auto found = json.find("architectures");
  if (found == json.end() || found->is_null() || (found->is_array() && found->empty())) {
    return;
  }
  const bool one = found->is_array() && found->size() == 1 && found->front().is_string();
  const std::string name = one ? found->front().get<std::string>() : std::string();
  require_supported(std::find(kGpt2Classes.begin(), kGpt2Classes.end(), name) != kGpt2Classes.end(), where,
                    ": architectures must be [\"GPT2LMHeadModel\"] or [\"GPT2Model\"], found ",
                    formats::quoted_json(*found));
}

Json with_gpt2_names(Json json) {
  for (const auto& [second, first] : kGpt2SecondNames) {
    const std::string name(first);
    if (json.contains(second) && !json.contains(name)) {
      json[name] = json[second];
    }
  }
  if (json.value("n_inner", Json()).is_null()) {
    json["n_inner"] = 0;
  }
  return json;
}

std::string activation_here(const std::string& name) {
  return name == "gelu_fast" || name == "gelu_pytorch_tanh" ? "gelu_new" : name == "swish" ? "silu" : name;
}

bool all_are_full(const TransformerConfig& config) {
  return std::all_of(config.attention.begin(), config.attention.end(),
                     [](const std::string& each) { return each == "full" || each == "causal"; });
}

void check_gpt2_form(const TransformerConfig& config) {
  const auto needs = [](bool holds, const char* rule) { require_supported(holds, "gpt2: ", rule); };
  needs(config.is_decoder, "is_decoder must be true");
  needs(config.position_embedding == "learned", "position_embedding must be learned");
  needs(config.norm_position == "pre", "norm_position must be pre");
  needs(!config.is_reversible(), "residual must be plain");
  needs(config.attention_bias, "attention_bias must be true");
  needs(!config.lm_head_bias, "lm_head_bias must be false");
  needs(config.key_value_heads() == config.num_attention_heads, "num_key_value_heads must be num_attention_heads");
  needs(config.head_dim() * config.num_attention_heads == config.hidden_size,
        "attention_head_size must be hidden_size / num_attention_heads");
  needs(config.hidden_act != "swiglu" && config.hidden_act != "quick_gelu",
        "hidden_act must be gelu, gelu_new, relu or silu");
  needs(config.memory_length == 0, "memory_length must be 0");
  needs(!config.adaptive_vocabulary(), "vocabulary_cutoffs must be none, and variant not transformer-xl");
  needs(config.picture_shape.empty(), "picture_shape must be none");
  needs(config.tokenizer_class == "huggingface", "the tokeniser must be huggingface");
}

}  // namespace

TransformerConfig gpt2_from_json(const Json& given, const std::filesystem::path& directory) {
  const std::string where = (directory / "config.json").string();
  check_gpt2_class(given, where);
  const Json json = with_gpt2_names(given);
  Gpt2Fields fields;
  formats::update_from_json(fields, formats::only_fields_of<Gpt2Fields>(json), where);
  check_fields(fields, where);
  require_supported(!fields.add_cross_attention, where, ": add_cross_attention must be false, found true");
  require_supported(fields.scale_attn_weights, where, ": scale_attn_weights must be true, found false");
  if (fields.embd_pdrop != fields.resid_pdrop) {
    log_warning(where, ": embd_pdrop is ", fields.embd_pdrop, " and resid_pdrop ", fields.resid_pdrop,
                "; training drops ", fields.resid_pdrop, " of both");
  }
  TransformerConfig config;
  config.vocab_size = fields.vocab_size;
  config.hidden_size = fields.n_embd;
  config.num_hidden_layers = fields.n_layer;
  config.num_attention_heads = fields.n_head;
  config.intermediate_size = fields.n_inner;
  config.max_position_embeddings = fields.n_positions;
  config.position_embedding = "learned";
  config.hidden_act = activation_here(fields.activation_function);
  config.hidden_dropout_prob = fields.resid_pdrop;
  config.attention_probs_dropout_prob = fields.attn_pdrop;
  config.initializer_range = fields.initializer_range;
  config.tie_word_embeddings = fields.tie_word_embeddings;
  config.layer_norm_eps = fields.layer_norm_epsilon;
  if (fields.scale_attn_by_inverse_layer_idx) {
    config.variant = scores_by_layer_variant().name;
  }
  if (const auto attention = json.find(kAttentionMember); attention != json.end()) {
    formats::read_value(*attention, concat(where, ": ", kAttentionMember), config.attention);
  }
  config.tokenizer_class = "huggingface";
  config.directory = directory;
  validate(config, where);
  return config;
}

Json gpt2_to_json(const TransformerConfig& config) {
  check_gpt2_form(config);
  Gpt2Fields fields;
  fields.vocab_size = config.vocab_size;
  fields.n_positions = config.max_position_embeddings;
  fields.n_embd = config.hidden_size;
  fields.n_layer = config.num_hidden_layers;
  fields.n_head = config.num_attention_heads;
  fields.activation_function = config.hidden_act;
  fields.resid_pdrop = fields.embd_pdrop = config.hidden_dropout_prob;
  fields.attn_pdrop = config.attention_probs_dropout_prob;
  fields.layer_norm_epsilon = config.layer_norm_eps;
  fields.initializer_range = config.initializer_range;
  fields.scale_attn_by_inverse_layer_idx = config.variant == scores_by_layer_variant().name;
  fields.tie_word_embeddings = config.tie_word_embeddings;
  Json json = formats::to_json(fields);
  json["n_inner"] = config.intermediate_size == 0 ? Json() : Json(config.intermediate_size);
  const Json end = config.vocab_size == kReleasedVocabulary ? Json(kReleasedVocabulary - 1) : Json();
  json.update({{"architectures", {"GPT2LMHeadModel"}},
               {"model_type", "gpt2"},
               {"bos_token_id", end},
               {"eos_token_id", end},
               {"use_cache", true}});
  if (!all_are_full(config)) {
    json[kAttentionMember] = config.attention;
  }
  return json;
}

}  // namespace weft::models
