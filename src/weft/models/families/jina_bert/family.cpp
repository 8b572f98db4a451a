// SPDX-License-Identifier: Apache-2.0
// JinaBERT (Guenther et al. 2023), as Jina's second embedders have it: BERT whose scores fall with the distance (ALiBi,
// to both sides) in place of positions, and whose feed-forward has a gate. Its model_type is BERT's.
#include "weft/core/error.h"
#include "weft/models/families/bert/names.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

using formats::Json;

constexpr std::string_view kSlopes = "alibi";
constexpr std::string_view kCode = "jinaai/jina-bert-implementation--";

struct JinaBertFields {
  std::string feed_forward_type = "geglu";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"feed_forward_type", &JinaBertFields::feed_forward_type, "activation of the gate in each feed-forward"}
              .one_of({"geglu", "reglu"}));
  }
};

bool has_slopes(const Json& config) {
  const auto kind = config.find("position_embedding_type");
  return kind != config.end() && *kind == kSlopes;
}

layers::EmbeddingsConfig jina_bert_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.positions = layers::PositionKind::kNone;
  return embeddings;
}

StackConfig jina_bert_stack(const EncoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = transformer_stack(config, options);
  for (layers::BlockConfig& block : stack.blocks) {
    block.alibi = true;
    block.activation = config.own.get<JinaBertFields>().feed_forward_type;
    block.feed_forward_up_bias = false;
    block.attention_output_dropout = block.dropout;
    block.inner_dropout = block.dropout;  // in front of the last product, and not behind it
    block.dropout = 0.0;
  }
  return stack;
}

void refuse_jina_bert(const EncoderConfig& config) {
  refuse_start(config, "its scores fall with the distance, and an encoder-decoder has a table of positions");
}

/// Errors: kUnsupported for the code of another model, whose queries and keys have norms.
EncoderConfig jina_bert_from_json(const Json& json, std::string_view where, const std::filesystem::path& directory) {
  if (const auto code = json.find("auto_map"); code != json.end()) {
    const std::string named = code->dump(-1, ' ', true, Json::error_handler_t::replace);
    if (named.find("qk-post-norm") != std::string::npos) {
      fail(ErrorKind::kUnsupported, where, ": auto_map names code with norms of queries and keys (qk-post-norm), ",
           "but Weft has the jina_bert without them");
    }
  }
  return encoder_fields_from_json(json, where, directory);
}

/// With the code by which transformers reads it.
Json jina_bert_to_json(const EncoderConfig& config, Head head) {
  Json json = encoder_fields_to_json(config, head);
  json["position_embedding_type"] = kSlopes;
  json["auto_map"] = {{"AutoConfig", concat(kCode, "configuration_bert.JinaBertConfig")}};
  for (const auto& [name, kind] : {std::pair<const char*, Head>{"AutoModel", Head::kNone},
                                   {"AutoModelForMaskedLM", Head::kMaskedLanguageModel},
                                   {"AutoModelForSequenceClassification", Head::kSequenceClassification}}) {
    json["auto_map"][name] = concat(kCode, "modeling_bert.", architecture_name(config.model_type, kind));
  }
  return json;
}

EncoderRules jina_bert_rules() {
  EncoderRules rules = *bert_family().encoder;
  rules.class_name = "JinaBert";
  rules.base.model_type = "jina_bert";
  rules.base.max_position_embeddings = 8192;
  rules.base.own = OwnFields(JinaBertFields{});
  rules.defaults = rules.base;
  rules.defaults.max_position_embeddings = 512;
  rules.defaults.own.get<JinaBertFields>().feed_forward_type = "original";  // as BERT's, which nobody published
  rules.fields = {{"sep_token_id", {}}, {"position_embedding_type", {}}};
  rules.positions_by = kSlopes;
  rules.names.insert(rules.names.begin(), {{"encoder.layers.#.feed_forward.up", {"~encoder.layer.#.mlp.gated_layers"}},
                                           {"encoder.layers.#.feed_forward.down", {"~encoder.layer.#.mlp.wo"}},
                                           {"encoder.layers.#.feed_forward_norm", {"~encoder.layer.#.mlp.layernorm"}}});
  rules.embeddings = jina_bert_embeddings;
  rules.stack = jina_bert_stack;
  rules.costs = gated_costs;
  rules.lengthens = true;
  rules.check_start = refuse_jina_bert;
  rules.from_json = jina_bert_from_json;
  rules.to_json = jina_bert_to_json;
  return rules;
}

}  // namespace

const Family& jina_bert_family() {
  static const EncoderRules rules = jina_bert_rules();
  static const Family family{.name = "jina_bert", .model_type = "bert", .reads = has_slopes, .encoder = &rules};
  return family;
}

}  // namespace weft::models
