// SPDX-License-Identifier: Apache-2.0
// BERT (Devlin et al. 2019): full attention, learned positions, a pooler under the heads that classify.
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

bool bert_has_pooler(Head head) {
  return head == Head::kNone || head == Head::kSequenceClassification || head == Head::kMultipleChoice;
}

std::vector<NameRow> bert_names() {
  return with_encoder_names({
      {"head.pooler", {"~pooler.dense"}},
      {"head.dense", {"cls.predictions.transform.dense"}, Head::kMaskedLanguageModel},
      {"head.norm", {"cls.predictions.transform.LayerNorm"}, Head::kMaskedLanguageModel},
      {"head.bias", {"cls.predictions.bias"}, Head::kMaskedLanguageModel},
      {"head.decoder", {"cls.predictions.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  });
}

EncoderFamily make_bert() {
  EncoderFamily family;
  family.model_type = "bert";
  family.class_name = "Bert";
  family.base_prefix = "bert";
  family.base.model_type = "bert";
  family.defaults = family.base;
  family.names = bert_names();
  family.head_prefixes = {"cls.", "classifier.", "qa_outputs.", "qa_classifier."};
  family.own_fields = {"classifier_dropout", "position_embedding_type"};
  family.has_pooler = bert_has_pooler;
  family.may_lack_positions = true;
  return family;
}

}  // namespace

const EncoderFamily& bert_family() {
  static const EncoderFamily family = make_bert();
  return family;
}

}  // namespace weft::models
