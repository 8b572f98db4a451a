// SPDX-License-Identifier: Apache-2.0
// Two lists of fields for one architecture.
#include "weft/models/families/transfo_xl/config_json.h"

#include <algorithm>
#include <string>
#include <vector>

#include "weft/attention/mechanisms/settings.h"
#include "weft/core/error.h"
#include "weft/models/families/causal_variant.h"
#include "weft/models/families/require_supported.h"

namespace weft::models {
namespace {

using formats::Json;

/// The fields that say what the model is, with the defaults of TransfoXLConfig.
struct ReleasedConfig {
  std::int64_t vocab_size = 267735;
  std::vector<std::int64_t> cutoffs = {20000, 40000, 200000};
  std::int64_t d_model = 1024;
  std::int64_t d_embed = 1024;
  std::int64_t n_head = 16;
  std::int64_t d_head = 64;
  std::int64_t d_inner = 4096;
  std::int64_t div_val = 4;
  bool pre_lnorm = false;
  std::int64_t n_layer = 18;
  std::int64_t tgt_len = 128;  // not in the newer versions; what the released model is evaluated with
  std::int64_t mem_len = 1600;
  std::int64_t clamp_len = 1000;
  bool same_length = true;
  std::int64_t attn_type = 0;
  double dropout = 0.1;
  double dropatt = 0.0;
  bool untie_r = true;
  double layer_norm_epsilon = 1e-5;
  double init_std = 0.02;
  bool tie_word_embeddings = true;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ReleasedConfig;
    visit(Field{"vocab_size", &C::vocab_size, ""}.range(1, 1 << 24));
    visit(Field{"cutoffs", &C::cutoffs, ""});
    visit(Field{"d_model", &C::d_model, ""}.range(1, 1 << 18));
    visit(Field{"d_embed", &C::d_embed, ""}.range(1, 1 << 18));
    visit(Field{"n_head", &C::n_head, ""}.range(1, 4096));
    visit(Field{"d_head", &C::d_head, ""}.range(1, 1 << 18));
    visit(Field{"d_inner", &C::d_inner, ""}.range(1, 1 << 20));
    visit(Field{"div_val", &C::div_val, ""}.range(1, 1 << 18));
    visit(Field{"pre_lnorm", &C::pre_lnorm, ""});
    visit(Field{"n_layer", &C::n_layer, ""}.range(1, 4096));
    visit(Field{"tgt_len", &C::tgt_len, ""}.range(1, 1 << 30));
    visit(Field{"mem_len", &C::mem_len, ""}.range(0, 1 << 30));
    visit(Field{"clamp_len", &C::clamp_len, ""}.range(-1, 1 << 30));
    visit(Field{"same_length", &C::same_length, ""});
    visit(Field{"attn_type", &C::attn_type, ""});
    visit(Field{"dropout", &C::dropout, ""}.range(0.0, 0.999));
    visit(Field{"dropatt", &C::dropatt, ""}.range(0.0, 0.999));
    visit(Field{"untie_r", &C::untie_r, ""});
    visit(Field{"layer_norm_epsilon", &C::layer_norm_epsilon, ""}.range(1e-12, 1.0));
    visit(Field{"init_std", &C::init_std, ""}.range(0.0, 10.0));
    visit(Field{"tie_word_embeddings", &C::tie_word_embeddings, ""});
  }
};

/// Whether all projections but the first are those of the embeddings, as they are unless the config says otherwise.
bool shares_projections(const Json& json, const std::string& where) {
  const auto found = json.find("tie_projs");
  if (found == json.end() || found->is_null() || (found->is_array() && found->empty())) {
    return true;
  }
  if (!found->is_array() || !std::all_of(found->begin(), found->end(), [](const Json& e) { return e.is_boolean(); })) {
    fail(ErrorKind::kFormat, where, ": tie_projs must be a list of true and false");
  }
  const bool first = found->front().get<bool>();
  const bool others = std::all_of(found->begin() + 1, found->end(), [](const Json& e) { return e.get<bool>(); });
  return !first && others;
}

void check_supported(const ReleasedConfig& released, const Json& json, const std::string& where) {
  require_supported(!released.pre_lnorm, where, ": pre_lnorm must be false, found true");
  require_supported(released.attn_type == 0, where, ": attn_type must be 0, relative positions with learned u and v, ",
                    "found ", released.attn_type);
  require_supported(released.d_embed == released.d_model, where, ": d_embed must be d_model = ", released.d_model,
                    ", found ", released.d_embed);
  require_supported(released.n_head * released.d_head == released.d_model, where, ": n_head ", released.n_head,
                    " times d_head ", released.d_head, " must be d_model = ", released.d_model);
  require_supported(!released.same_length || released.mem_len > 0, where,
                    ": same_length with mem_len 0 leaves a token nothing to see");
  require_supported(released.div_val == 1 || !released.tie_word_embeddings || shares_projections(json, where), where,
                    ": tie_projs must be true for all clusters but the first");
}

std::string attention_of(const ReleasedConfig& released) {
  std::string inside;
  const auto add = [&](const auto&... parts) { inside += concat(inside.empty() ? "" : ", ", parts...); };
  if (released.same_length) {
    add("left=", released.mem_len - 1);
  }
  if (released.clamp_len > 0) {  // 0 and -1 are none
    add("clamp=", released.clamp_len);
  }
  if (!released.untie_r) {
    add("biases=shared");
  }
  return inside.empty() ? "relative" : concat("relative(", inside, ")");
}

/// The settings of the one attention that all layers have.
void read_attention(const TransformerConfig& config, ReleasedConfig& released) {
  const bool alike = std::all_of(config.attention.begin(), config.attention.end(),
                                 [&](const std::string& each) { return each == config.attention.front(); });
  require_supported(alike && config.attention.front().starts_with("relative"),
                    "transfo-xl: attention must be `relative`", " with the same settings in all layers");
  attention::MechanismSettings settings(config.attention.front(), "relative");
  constexpr std::int64_t kLongest = std::int64_t{1} << 30;
  const std::int64_t left = settings.number("left", -1, 0, kLongest);
  const std::int64_t clamp = settings.number("clamp", -1, 0, kLongest);
  released.untie_r = settings.word("biases", {"layer", "shared"}) != "shared";
  released.same_length = left >= 0;
  released.clamp_len = clamp;
  require_supported(left < 0 || left + 1 == config.memory_length, "transfo-xl: `", config.attention.front(),
                    "` must have left=", config.memory_length - 1, ", memory_length - 1, or none");
  require_supported(clamp != 0, "transfo-xl: `", config.attention.front(),
                    "` must have a clamp of at least 1, or none");
}

}  // namespace

TransformerConfig transfo_xl_from_json(const Json& json, const std::filesystem::path& directory) {
  const std::string where = (directory / "config.json").string();
  ReleasedConfig released;
  formats::update_from_json(released, formats::only_fields_of<ReleasedConfig>(json), where);
  check_supported(released, json, where);
  TransformerConfig config;
  config.vocab_size = released.vocab_size;
  config.hidden_size = released.d_model;
  config.num_hidden_layers = released.n_layer;
  config.num_attention_heads = released.n_head;
  config.intermediate_size = released.d_inner;
  config.max_position_embeddings = released.tgt_len;
  config.position_embedding = "none";
  config.norm_position = "post";
  config.hidden_act = "relu";
  config.attention = {attention_of(released)};
  config.hidden_dropout_prob = released.dropout;
  config.attention_probs_dropout_prob = released.dropatt;
  config.initializer_range = released.init_std;
  config.tie_word_embeddings = released.tie_word_embeddings;
  config.layer_norm_eps = released.layer_norm_epsilon;
  config.memory_length = released.mem_len;
  config.vocabulary_cutoffs = released.cutoffs;
  config.vocabulary_division = released.div_val;
  config.variant = transfo_xl_variant().name;
  config.tokenizer_class = "huggingface";
  config.directory = directory;
  // One cluster has no narrower one behind it: div_val says nothing, but that the embeddings are projected.
  require_supported(!released.cutoffs.empty() || released.div_val == 1, where, ": div_val must be 1 without cutoffs, ",
                    "found ", released.div_val);
  validate(config, where);
  return config;
}

Json transfo_xl_to_json(const TransformerConfig& config) {
  require_supported(config.variant == transfo_xl_variant().name, "transfo-xl: variant must be transformer-xl, found ",
                    config.variant);
  require_supported(config.compressed_memory_length == 0, "transfo-xl: compressed_memory_length must be 0, found ",
                    config.compressed_memory_length);
  require_supported(config.hidden_act == "relu", "transfo-xl: hidden_act must be relu, found ", config.hidden_act);
  require_supported(config.key_value_heads() == config.num_attention_heads,
                    "transfo-xl: num_key_value_heads must be num_attention_heads = ", config.num_attention_heads,
                    ", found ", config.key_value_heads());
  ReleasedConfig released;
  read_attention(config, released);
  released.vocab_size = config.vocab_size;
  released.cutoffs = config.vocabulary_cutoffs;
  released.d_model = released.d_embed = config.hidden_size;
  released.n_head = config.num_attention_heads;
  released.d_head = config.head_dim();
  released.d_inner = config.feed_forward_size();
  released.div_val = config.vocabulary_division;
  released.n_layer = config.num_hidden_layers;
  released.tgt_len = config.max_position_embeddings;
  released.mem_len = config.memory_length;
  released.dropout = config.hidden_dropout_prob;
  released.dropatt = config.attention_probs_dropout_prob;
  released.layer_norm_epsilon = config.layer_norm_eps;
  released.init_std = config.initializer_range;
  released.tie_word_embeddings = config.tie_word_embeddings;
  Json json = formats::to_json(released);
  std::vector<bool> tied(config.vocabulary_cutoffs.size() + 1, config.tie_word_embeddings);
  tied.front() = false;
  json.update({{"architectures", {"TransfoXLLMHeadModel"}},
               {"model_type", kTransfoXl},
               {"adaptive", true},
               {"tie_projs", tied},
               {"proj_share_all_but_first", config.tie_word_embeddings},
               {"tokenizer_class", "TransfoXLTokenizer"},
               {"eos_token_id", 0}});
  return json;
}

}  // namespace weft::models
