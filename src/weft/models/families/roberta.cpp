// SPDX-License-Identifier: Apache-2.0
// RoBERTa (Liu et al. 2019): BERT whose positions pass over padding, with heads of its own.
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

bool roberta_has_pooler(Head head) { return head == Head::kNone || head == Head::kMultipleChoice; }

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

std::vector<NameRow> roberta_names() {
  return with_encoder_names({
      {"head.pooler", {"~pooler.dense"}},
      {"head.dense", {"lm_head.dense"}, Head::kMaskedLanguageModel},
      {"head.norm", {"lm_head.layer_norm"}, Head::kMaskedLanguageModel},
      {"head.bias", {"lm_head.bias"}, Head::kMaskedLanguageModel},
      {"head.decoder", {"lm_head.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  });
}

EncoderFamily make_roberta() {
  EncoderFamily family;
  family.model_type = "roberta";
  family.class_name = "Roberta";
  family.base_prefix = "roberta";
  family.base = roberta_base();
  family.defaults = roberta_defaults();
  family.skip_padding = true;
  family.hidden_act_in_heads = false;
  family.classifier = Classifier::kFirstToken;
  family.names = roberta_names();
  family.head_prefixes = {"lm_head.", "classifier.", "qa_outputs."};
  family.own_fields = {"classifier_dropout"};
  family.has_pooler = roberta_has_pooler;
  return family;
}

}  // namespace

const EncoderFamily& roberta_family() {
  static const EncoderFamily family = make_roberta();
  return family;
}

}  // namespace weft::models
