// SPDX-License-Identifier: Apache-2.0
// XLM-RoBERTa (Conneau et al. 2020): RoBERTa over the words of a hundred languages. Its tensors keep RoBERTa's names.
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderRules xlm_roberta_rules() {
  EncoderRules rules = *roberta_family().encoder;
  rules.class_name = "XLMRoberta";
  rules.base.model_type = "xlm-roberta";
  rules.base.vocab_size = 250002;
  rules.defaults.model_type = "xlm-roberta";
  rules.defaults.vocab_size = 30522;
  return rules;
}

}  // namespace

const Family& xlm_roberta_family() {
  static const EncoderRules rules = xlm_roberta_rules();
  static const Family family{
      .name = "xlm-roberta", .model_type = "xlm-roberta", .layers_of = "roberta", .encoder = &rules};
  return family;
}

}  // namespace weft::models
