// SPDX-License-Identifier: Apache-2.0
// RoBERTa (Liu et al. 2019): BERT whose positions pass over padding, with heads of its own.
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderConfig roberta_base() {
  EncoderConfig config;
  config.model_type = "roberta";
  config.vocab_size = 50265;
  config.max_position_embeddings = 514;
  config.type_vocab_size = 1;
  config.layer_norm_eps = 1e-5;
  config.bos_token_id = 0;
  config.pad_token_id = 1;
  config.eos_token_id = 2;
  config.sep_token_id = 2;
  return config;
}

EncoderConfig roberta_defaults() {
  EncoderConfig config = roberta_base();
  config.max_position_embeddings = 512;
  config.type_vocab_size = 2;
  config.layer_norm_eps = 1e-12;
  return config;
}

layers::EmbeddingsConfig roberta_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.skip_padding = true;
  return embeddings;
}

HeadPlan roberta_head(const EncoderConfig& config) {
  HeadPlan plan = first_token_head(config);
  plan.vocabulary_activation = "gelu";
  plan.class_activation = "tanh";
  return plan;
}

std::vector<NameRow> roberta_names() {
  return with_encoder_names({
      {"head.pooler", {"~pooler.dense"}},
      {"head.dense", {"lm_head.dense"}, Head::kMaskedLanguageModel},
      {"head.norm", {"lm_head.layer_norm"}, Head::kMaskedLanguageModel},
      {.weft = "head.bias",
       .parts = {"lm_head.bias"},
       .head = Head::kMaskedLanguageModel,
       .other = "lm_head.decoder.bias",
       .other_if_untied = true},
      {"head.decoder", {"lm_head.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  });
}

EncoderRules roberta_rules() {
  EncoderRules rules;
  rules.class_name = "Roberta";
  rules.base_prefix = "roberta";
  rules.base = roberta_base();
  rules.defaults = roberta_defaults();
  rules.embeddings = roberta_embeddings;
  rules.head = roberta_head;
  rules.names = roberta_names();
  rules.head_prefixes = {"lm_head.", "classifier.", "qa_outputs."};
  rules.pooled_heads = {Head::kNone, Head::kMultipleChoice};
  return rules;
}

}  // namespace

const Family& roberta_family() {
  static const EncoderRules rules = roberta_rules();
  static const Family family{.name = "roberta", .model_type = "roberta", .layers_of = "roberta", .encoder = &rules};
  return family;
}

}  // namespace weft::models
