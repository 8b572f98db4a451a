// SPDX-License-Identifier: Apache-2.0
// The authors' form becomes that of transformers, which 5.23 does by the weights alone: of its fields it knows none.
#include "weft/models/families/nomic_bert/config_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/formats/json_members.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/json/rope_json.h"
#include "weft/models/families/nomic_bert/config.h"

namespace weft::models {
namespace {

using formats::Json;
using AuthorsName = std::pair<const char*, const char*>;

/// The authors' names, and those of transformers.
constexpr std::array kAuthors{AuthorsName{"n_embd", "hidden_size"},
                              AuthorsName{"n_layer", "num_hidden_layers"},
                              AuthorsName{"n_head", "num_attention_heads"},
                              AuthorsName{"n_inner", "intermediate_size"},
                              AuthorsName{"n_positions", "max_position_embeddings"},
                              AuthorsName{"layer_norm_epsilon", "layer_norm_eps"},
                              AuthorsName{"resid_pdrop", "hidden_dropout_prob"},
                              AuthorsName{"attn_pdrop", "attention_probs_dropout_prob"},
                              AuthorsName{"rotary_emb_base", "rope_theta"}};

/// A field of the authors', and the value that Weft computes with.
struct Fixed {
  const char* name;
  double value;
};
constexpr std::array kPlain{
    Fixed{"num_experts", 0},           Fixed{"moe_every_n_layers", 0},  Fixed{"prenorm", 0},
    Fixed{"parallel_block", 0},        Fixed{"rotary_emb_fraction", 1}, Fixed{"rotary_emb_interleaved", 0},
    Fixed{"rotary_emb_scale_base", 0}, Fixed{"qkv_proj_bias", 0},       Fixed{"mlp_fc1_bias", 0},
    Fixed{"mlp_fc2_bias", 0},          Fixed{"use_rms_norm", 0},        Fixed{"causal", 0}};

void require_fixed(const Json& json, std::string_view where) {
  for (const auto& [name, value] : kPlain) {
    const Json* const found = formats::given_member(json, name);
    if (found == nullptr) {
      continue;
    }
    const bool is_number = found->is_number() || found->is_boolean();
    const double given = found->is_boolean() ? (found->get<bool>() ? 1.0 : 0.0)
                         : is_number         ? found->get<double>()
                                             : -1.0;
    if (given != value) {
      fail(ErrorKind::kUnsupported, where, ": ", name, " is ", formats::quoted_json(*found),
           ", but Weft computes a nomic_bert with ", value, " alone");
    }
  }
}

/// "swiglu" is silu in the gate.
const char* inside_of(const Json& json, std::string_view where) {
  const Json* const found = formats::given_member(json, "activation_function");
  if (found == nullptr || *found == "swiglu") {
    return "silu";
  }
  if (*found != "geglu") {
    fail(ErrorKind::kUnsupported, where, ": activation_function must be \"swiglu\" or \"geglu\", found ",
         formats::quoted_json(*found));
  }
  return "gelu";
}

Json of_authors(const Json& json, std::string_view where) {
  Json made = json;
  for (const auto& [theirs, ours] : kAuthors) {
    if (const Json* const found = formats::given_member(json, theirs)) {
      made[ours] = *found;
    }
  }
  made["hidden_act"] = inside_of(json, where);
  // Beyond what the model was trained for, their program changes the base with the length of each text.
  const Json* const scale = formats::given_member(json, "rotary_scaling_factor");
  const Json* const trained = formats::given_member(json, "max_trained_positions");
  const Json* const longest = formats::given_member(made, "max_position_embeddings");
  if (scale != nullptr && trained != nullptr && trained->is_number_integer() && longest != nullptr &&
      longest->is_number_integer()) {
    made["max_position_embeddings"] = std::min(trained->get<std::int64_t>(), longest->get<std::int64_t>());
  }
  return made;
}

void require_whole_heads(const Json& json, const EncoderConfig& config, std::string_view where) {
  const Json* const columns = formats::given_member(json, "head_dim");
  if (columns != nullptr && (!columns->is_number_integer() ||
                             columns->get<std::int64_t>() * config.num_attention_heads != config.hidden_size)) {
    fail(ErrorKind::kUnsupported, where, ": head_dim is ", formats::quoted_json(*columns), ", but hidden_size ",
         config.hidden_size, " is shared among num_attention_heads ", config.num_attention_heads);
  }
}

}  // namespace

EncoderConfig nomic_bert_from_json(const Json& json, std::string_view where, const std::filesystem::path& directory) {
  require_fixed(json, where);  // in either form: transformers passes over these fields
  Json flat = formats::given_member(json, "n_embd") != nullptr ? of_authors(json, where) : json;
  flatten_rope(flat, where);
  EncoderConfig config = encoder_fields_from_json(flat, where, directory);
  require_whole_heads(json, config, where);
  return config;
}

Json nomic_bert_to_json(const EncoderConfig& config, Head head) {
  Json json = encoder_fields_to_json(config, head);
  json["rope_parameters"] = {{"rope_theta", json["rope_theta"]}, {"rope_type", "default"}};
  json.erase("rope_theta");
  return json;
}

}  // namespace weft::models
