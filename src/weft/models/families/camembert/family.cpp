// SPDX-License-Identifier: Apache-2.0
// CamemBERT (Martin et al. 2020): RoBERTa over French. Its tensors keep RoBERTa's names; its tokeniser puts the text
// between other ids than those that its config names.
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderRules camembert_rules() {
  EncoderRules rules = *roberta_family().encoder;
  rules.class_name = "Camembert";
  rules.base.model_type = "camembert";
  rules.base.vocab_size = 32005;
  rules.base.bos_token_id = 5;
  rules.base.eos_token_id = 6;
  rules.defaults.model_type = "camembert";
  rules.defaults.vocab_size = 30522;
  return rules;
}

}  // namespace

const Family& camembert_family() {
  static const EncoderRules rules = camembert_rules();
  static const Family family{.name = "camembert", .model_type = "camembert", .layers_of = "roberta", .encoder = &rules};
  return family;
}

}  // namespace weft::models
