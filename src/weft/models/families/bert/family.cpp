// SPDX-License-Identifier: Apache-2.0
// BERT (Devlin et al. 2019): full attention, learned positions, a pooler under the heads that classify.
#include "weft/models/families/bert/names.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

std::vector<NameRow> bert_names() {
  return with_encoder_names(with_masked_lm_names({
      {"head.pooler", {"~pooler.dense"}},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  }));
}

EncoderRules bert_rules() {
  EncoderRules rules;
  rules.class_name = "Bert";
  rules.base_prefix = "bert";
  rules.base.model_type = "bert";
  rules.defaults = rules.base;
  rules.names = bert_names();
  rules.head_prefixes = {"cls.", "classifier.", "qa_outputs.", "qa_classifier."};
  rules.fields = {{"sep_token_id", {}}};
  rules.pooled_heads = {Head::kNone, Head::kSequenceClassification, Head::kMultipleChoice};
  return rules;
}

bool knows_positions_by_a_table(const formats::Json& config) {
  const auto kind = config.find("position_embedding_type");
  return kind == config.end() || *kind != "alibi";
}

}  // namespace

const Family& bert_family() {
  static const EncoderRules rules = bert_rules();
  static const Family family{.name = "bert",
                             .model_type = "bert",
                             .reads = knows_positions_by_a_table,
                             .layers_of = "bert",
                             .encoder = &rules};
  return family;
}

}  // namespace weft::models
