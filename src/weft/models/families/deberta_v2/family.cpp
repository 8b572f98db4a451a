// SPDX-License-Identifier: Apache-2.0
// DeBERTa in its second and third release (He et al. 2021; He, Gao and Chen 2023): BERT whose scores know distances,
// with a convolution beside the first layer of the second.
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/bert/names.h"
#include "weft/models/families/deberta_v2/config.h"
#include "weft/models/families/deberta_v2/config_json.h"
#include "weft/models/families/deberta_v2/convolution_block.h"
#include "weft/models/families/deberta_v2/disentangled.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/replaced_attention.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

const DebertaFields& deberta_of(const EncoderConfig& config) { return config.own.get<DebertaFields>(); }

/// Of the third release.
EncoderConfig deberta_base() {
  EncoderConfig config;
  config.model_type = "deberta-v2";
  config.vocab_size = 128100;
  config.type_vocab_size = 0;
  config.layer_norm_eps = 1e-7;
  config.own = OwnFields(DebertaFields{});
  return config;
}

EncoderConfig deberta_defaults() {
  EncoderConfig config = deberta_base();
  config.hidden_size = 1536;
  config.num_hidden_layers = 24;
  config.num_attention_heads = 24;
  config.intermediate_size = 6144;
  config.own = OwnFields(DebertaFields{.relative_attention = false,
                                       .position_buckets = -1,
                                       .pos_att_type = {},
                                       .share_att_key = false,
                                       .norm_rel_ebd = DebertaFields::kNoNorm,
                                       .position_biased_input = true});
  return config;
}

DistanceTerms distance_terms(const EncoderConfig& config) {
  const DebertaFields& own = deberta_of(config);
  const bool has_farthest = own.max_relative_positions > 0;
  DistanceTerms terms;
  terms.farthest = has_farthest ? own.max_relative_positions : config.max_position_embeddings;
  terms.buckets = own.position_buckets > 0 ? own.position_buckets : 0;
  terms.span = terms.buckets > 0 ? terms.buckets : terms.farthest;
  terms.asked_of_distances = own.has_term(DebertaFields::kContentToPosition);
  terms.asked_by_distances = own.has_term(DebertaFields::kPositionToContent);
  terms.shared = own.share_att_key;
  if (own.norm_rel_ebd == DebertaFields::kNorm) {
    terms.norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  }
  return terms;
}

void check_distances(const EncoderConfig& config, std::string_view where) {
  const DistanceTerms terms = distance_terms(config);
  require(terms.buckets == 0 || (terms.buckets >= 2 && terms.farthest - 1 > terms.buckets / 2), where,
          ": position_buckets ", terms.buckets,
          " are for distances up to half of them and, together, those behind up to ", "max_relative_positions, found ",
          terms.farthest);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string given = replacing_attention(config, {}, layer);
    if (!given.empty() && !reach_of_pattern(given)) {
      throw Error(ErrorKind::kUnsupported,
                  concat(where, ": attention of layer ", layer, " is ", quote(given),
                         ", but the scores of a deberta-v2 ", "are of distances on both sides of a token"),
                  "choose full, or window(w)");
    }
  }
}

void check_deberta(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  const DebertaFields& own = deberta_of(config);
  for (const std::string& term : own.pos_att_type) {
    require(term == DebertaFields::kContentToPosition || term == DebertaFields::kPositionToContent, where,
            ": pos_att_type must list ", DebertaFields::kContentToPosition, " and ", DebertaFields::kPositionToContent,
            ", found ", [&] { return quote(term); });
  }
  if (own.relative_attention) {
    check_distances(config, where);
  }
  require(own.conv_kernel_size <= 0 || own.conv_kernel_size % 2 == 1, where,
          ": conv_kernel_size must be odd, or 0 for none, found ", own.conv_kernel_size);
  require(config.hidden_size % own.conv_groups == 0, where, ": hidden_size ", config.hidden_size,
          " is not divisible by conv_groups ", own.conv_groups);
}

std::int64_t table_width(const EncoderConfig& config) {
  const std::int64_t own = deberta_of(config).embedding_size;
  return own > 0 ? own : config.hidden_size;
}

layers::EmbeddingsConfig deberta_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.hidden_size = table_width(config);
  embeddings.output_size = config.hidden_size;
  embeddings.projects_first = true;
  embeddings.positions =
      deberta_of(config).position_biased_input ? layers::PositionKind::kLearned : layers::PositionKind::kNone;
  return embeddings;
}

layers::SelfAttentionFactory deberta_layer(const EncoderConfig& config, const EncoderOptions&, bool) {
  return deberta_of(config).relative_attention ? disentangled_layer(distance_terms(config))
                                               : layers::SelfAttentionFactory();
}

StackConfig deberta_stack(const EncoderConfig& config, const EncoderOptions& options) {
  const DebertaFields& own = deberta_of(config);
  StackConfig stack = transformer_stack(config, options);
  for (layers::BlockConfig& block : stack.blocks) {
    block.score_factor = 1.0 / distance_terms(config).divisor();
    block.knows_positions = own.relative_attention;
    block.position_dropout = config.hidden_dropout_prob;
  }
  if (own.conv_kernel_size > 0 && !stack.blocks.empty()) {
    stack.blocks.front().make = convolution_block({own.conv_kernel_size, own.conv_groups, own.conv_act});
  }
  return stack;
}

HeadPlan deberta_head(const EncoderConfig& config) {
  HeadPlan plan = bert_head(config);
  plan.vocabulary_width = table_width(config);
  plan.pooler_activation = deberta_of(config).pooler_hidden_act;
  plan.pooler_dropout = deberta_of(config).pooler_dropout;
  plan.tag_dropout = config.hidden_dropout_prob;
  return plan;
}

void refuse_deberta(const EncoderConfig& config) {
  refuse_start(config, "its scores know distances, and those of an encoder-decoder with a table of positions do not");
}

std::vector<NameRow> with_deberta_names(std::vector<NameRow> head) {
  head.insert(head.end(),
              {{"encoder.embeddings.project", {"~embeddings.embed_proj"}},
               {"encoder.layers.#.attention.mechanism.distances", {"~encoder.rel_embeddings.weight"}},
               {"encoder.layers.#.attention.mechanism.norm", {"~encoder.LayerNorm"}},
               {"encoder.layers.#.attention.distance_keys", {"~encoder.layer.#.attention.self.pos_key_proj"}},
               {"encoder.layers.#.attention.distance_queries", {"~encoder.layer.#.attention.self.pos_query_proj"}},
               {"encoder.layers.#.attention.qkv",
                {"~encoder.layer.#.attention.self.query_proj", "~encoder.layer.#.attention.self.key_proj",
                 "~encoder.layer.#.attention.self.value_proj"}},
               {"encoder.layers.#.convolution_norm", {"~encoder.conv.LayerNorm"}},
               {"encoder.layers.#.convolution", {"~encoder.conv.conv"}},
               {"head.pooler", {"pooler.dense"}},
               {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
               {"head.projection", {"classifier"}}});
  const std::vector<NameRow> of_bert = with_encoder_names({});  // of several rows that fit the first one counts
  head.insert(head.end(), of_bert.begin(), of_bert.end());
  return head;
}

/// The names that transformers calls `legacy`, and those of the published files.
std::vector<NameRow> deberta_names() { return with_deberta_names(with_masked_lm_names({})); }
std::vector<NameRow> published_names() {
  return with_deberta_names({{"head.dense", {"lm_predictions.lm_head.dense"}, Head::kMaskedLanguageModel},
                             {"head.norm", {"lm_predictions.lm_head.LayerNorm"}, Head::kMaskedLanguageModel},
                             {"head.bias", {"lm_predictions.lm_head.bias"}, Head::kMaskedLanguageModel},
                             {"head.decoder", {"lm_predictions.lm_head.decoder.weight"}, Head::kMaskedLanguageModel}});
}

EncoderRules deberta_rules() {
  EncoderRules rules;
  rules.class_name = "DebertaV2";
  rules.base_prefix = "deberta";
  rules.base = deberta_base();
  rules.defaults = deberta_defaults();
  rules.fields = {{"sep_token_id", {}}, {"position_embedding_type", {}}, {"classifier_dropout", "cls_dropout"}};
  rules.names = deberta_names();
  rules.other_layouts = {{"deberta", published_names()}};
  rules.head_prefixes = {"cls.", "lm_predictions.", "mask_predictions.", "pooler.", "classifier.", "qa_outputs."};
  // A table that nobody reads, and what a model without layers has all the same.
  rules.idle_names = {"embeddings.position_ids", "embeddings.position_embeddings.",
                      "mask_predictions.",       "encoder.rel_embeddings.",
                      "encoder.LayerNorm.",      "encoder.conv."};
  rules.pooled_heads = {Head::kSequenceClassification, Head::kMultipleChoice};
  rules.check = check_deberta;
  rules.embeddings = deberta_embeddings;
  rules.self_attention = deberta_layer;
  rules.stack = deberta_stack;
  rules.head = deberta_head;
  rules.check_start = refuse_deberta;
  rules.from_json = deberta_v2_from_json;
  rules.to_json = deberta_v2_to_json;
  return rules;
}

}  // namespace

const Family& deberta_v2_family() {
  static const EncoderRules rules = deberta_rules();
  static const Family family{.name = "deberta-v2", .model_type = "deberta-v2", .encoder = &rules};
  return family;
}

}  // namespace weft::models
