// SPDX-License-Identifier: Apache-2.0
// mBART (Liu et al. 2020): BART with pre-norm and a last norm in both stacks. A target begins with the code of its
// language.
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderDecoderConfig mbart_defaults() {
  EncoderDecoderConfig config = bart_family().pair->defaults;
  config.model_type = "mbart";
  config.norm_position = "pre";
  config.decoder_start_token_id = -1;  // that of the target's language
  return config;
}

PairRules mbart_rules() {
  PairRules rules = *bart_family().pair;
  rules.class_name = "MBartForConditionalGeneration";
  rules.base_class = "MBartModel";
  rules.defaults = mbart_defaults();
  return rules;
}

}  // namespace

const Family& mbart_family() {
  static const PairRules rules = mbart_rules();
  static const Family family{.name = "mbart", .model_type = "mbart", .pair = &rules};
  return family;
}

}  // namespace weft::models
