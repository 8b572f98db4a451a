// SPDX-License-Identifier: Apache-2.0
// ESM (Rives et al. 2021; Lin et al. 2023), which reads proteins: RoBERTa with its norms first, whose positions may be
// rotary, and whose masked tokens are as if dropped from the input. What scores contacts of a protein from attention is
// no head here.
#include "weft/core/error.h"
#include "weft/formats/json_members.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/rows.h"
#include "weft/text/hugging_face.h"

namespace weft::models {
namespace {

using formats::Json;

constexpr std::string_view kRotary = "rotary";
constexpr std::string_view kTable = "absolute";

struct EsmFields {
  bool rotary = true;
  double rope_theta = 10000.0;
  bool token_dropout = true;
  bool emb_layer_norm_before = false;
  std::int64_t mask_token_id = 32;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EsmFields;
    visit(Field{"rotary", &C::rotary,
                "positions are rotary; otherwise a table, as in RoBERTa (position_embedding_type in config.json)"});
    visit(Field{"rope_theta", &C::rope_theta, "base of the rotary positions"}.range(1.0, 1e12));
    visit(Field{"token_dropout", &C::token_dropout,
                "masked tokens are zeros, and the others of their text are larger for it"});
    visit(Field{"emb_layer_norm_before", &C::emb_layer_norm_before, "the embeddings end in a norm"});
    visit(Field{"mask_token_id", &C::mask_token_id, "id of the token in place of one to guess; -1 for none"}.range(
        -1, 1 << 24));
  }
};

const EsmFields& esm_of(const EncoderConfig& config) { return config.own.get<EsmFields>(); }

/// Of the second release, with 35 million parameters.
EncoderConfig esm_base() {
  EncoderConfig config;
  config.model_type = "esm";
  config.vocab_size = 33;
  config.hidden_size = 480;
  config.num_attention_heads = 20;
  config.intermediate_size = 1920;
  config.max_position_embeddings = 1026;
  config.type_vocab_size = 1;
  config.pad_token_id = 1;
  config.bos_token_id = 0;
  config.eos_token_id = 2;
  config.layer_norm_eps = 1e-5;
  config.hidden_dropout_prob = 0.0;
  config.attention_probs_dropout_prob = 0.0;
  config.own = OwnFields(EsmFields{});
  return config;
}

EncoderConfig esm_defaults() {
  const EncoderConfig usual;
  EncoderConfig config = esm_base();
  config.hidden_size = usual.hidden_size;
  config.num_attention_heads = usual.num_attention_heads;
  config.intermediate_size = usual.intermediate_size;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1;
  config.layer_norm_eps = 1e-12;
  config.pad_token_id = config.bos_token_id = -1;
  config.own = OwnFields(EsmFields{.rotary = false, .token_dropout = false, .mask_token_id = -1});
  return config;
}

void check_esm(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  const EsmFields& own = esm_of(config);
  if (own.rotary) {
    check_rotation(config, where);
  }
  require(!own.token_dropout || own.mask_token_id >= 0, where,
          ": token_dropout is true, so a mask_token_id must say which tokens it drops");
  require(own.mask_token_id < config.vocab_size, where, ": mask_token_id ", own.mask_token_id,
          " is not below vocab_size ", config.vocab_size);
}

layers::EmbeddingsConfig esm_embeddings(const EncoderConfig& config) {
  const EsmFields& own = esm_of(config);
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.positions = own.rotary ? layers::PositionKind::kNone : layers::PositionKind::kLearned;
  embeddings.skip_padding = !own.rotary;
  embeddings.masked_id = own.token_dropout ? own.mask_token_id : -1;
  embeddings.dropout = 0.0;
  if (!own.emb_layer_norm_before) {
    embeddings.norm.reset();
  }
  return embeddings;
}

StackConfig esm_stack(const EncoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = transformer_stack(config, options);
  for (layers::BlockConfig& block : stack.blocks) {
    block.norm_first = true;
    block.activation = "gelu";
    block.rope_theta = esm_of(config).rotary ? esm_of(config).rope_theta : 0.0;
  }
  stack.last_norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  return stack;
}

void fit_esm(EncoderConfig& config, const text::HuggingFaceTokenizer& tokenizer, const Json& given) {
  fit_token(config.bos_token_id, "bos_token_id", given, tokenizer, {text::SpecialRole::kClass});
  fit_token(config.eos_token_id, "eos_token_id", given, tokenizer, {text::SpecialRole::kSeparator});
  fit_token(config.own.get<EsmFields>().mask_token_id, "mask_token_id", given, tokenizer, {text::SpecialRole::kMask});
}

void refuse_esm(const EncoderConfig& config) {
  refuse_start(config, "its norms come before its layers, and those of an encoder that starts one behind them");
}

/// Errors: kUnsupported for a model that folds proteins, and for positions of another kind.
EncoderConfig esm_from_json(const Json& json, std::string_view where, const std::filesystem::path& directory) {
  if (const Json* const folds = formats::given_member(json, "is_folding_model"); folds != nullptr && *folds != false) {
    fail(ErrorKind::kUnsupported, where, ": is_folding_model is ", formats::quoted_json(*folds),
         ", but Weft has the ESM that reads proteins, and not ESMFold, which folds them");
  }
  Json flat = json;
  const Json* const positions = formats::given_member(json, "position_embedding_type");
  if (positions != nullptr && *positions != kRotary && *positions != kTable) {
    fail(ErrorKind::kUnsupported, where, ": position_embedding_type must be \"", kRotary, "\" or \"", kTable,
         "\", found ", formats::quoted_json(*positions));
  }
  flat["rotary"] = positions != nullptr && *positions == kRotary;
  flat.erase("position_embedding_type");
  for (const char* name : {"emb_layer_norm_before", "token_dropout"}) {
    if (formats::given_member(json, name) == nullptr) {
      flat.erase(name);
    }
  }
  return encoder_fields_from_json(flat, where, directory);
}

Json esm_to_json(const EncoderConfig& config, Head head) {
  Json json = encoder_fields_to_json(config, head);
  json["position_embedding_type"] = esm_of(config).rotary ? kRotary : kTable;
  json.erase("rotary");
  return json;
}

EncoderRules esm_rules() {
  EncoderRules rules = *roberta_family().encoder;
  rules.class_name = "Esm";
  rules.base_prefix = "esm";
  rules.base = esm_base();
  rules.defaults = esm_defaults();
  rules.fields = {{"sep_token_id", {}},
                  {"position_embedding_type", {}},
                  {"type_vocab_size", {}},
                  {"hidden_act", {}},
                  {"classifier_dropout", {}}};
  rules.idle_names = {
      "embeddings.position_ids",
      "embeddings.position_embeddings.",  // which models with rotary positions have, too
      "pooler.",
      "contact_head.",
      "rotary_embeddings.inv_freq",
      "encoder.layer.#.attention.self.rotary_embeddings.inv_freq",
  };
  rules.heads = {Head::kNone, Head::kMaskedLanguageModel, Head::kSequenceClassification, Head::kTokenClassification};
  rules.pooled_heads = {Head::kNone};
  rules.head_prefixes = {"lm_head.", "classifier."};
  rules.names.insert(rules.names.begin(),
                     {{"encoder.embeddings.norm", {"~embeddings.layer_norm"}},
                      {"encoder.layers.#.attention_norm", {"~encoder.layer.#.attention.LayerNorm"}},
                      {"encoder.layers.#.feed_forward_norm", {"~encoder.layer.#.LayerNorm"}},
                      {"encoder.norm", {"~encoder.emb_layer_norm_after"}},
                      {"head.bias", {"lm_head.bias"}, Head::kMaskedLanguageModel}});
  rules.check = check_esm;
  rules.embeddings = esm_embeddings;
  rules.stack = esm_stack;
  rules.fit = fit_esm;
  rules.check_start = refuse_esm;
  rules.from_json = esm_from_json;
  rules.to_json = esm_to_json;
  return rules;
}

}  // namespace

const Family& esm_family() {
  static const EncoderRules rules = esm_rules();
  static const Family family{.name = "esm", .model_type = "esm", .encoder = &rules};
  return family;
}

}  // namespace weft::models
