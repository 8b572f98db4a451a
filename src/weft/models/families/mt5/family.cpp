// SPDX-License-Identifier: Apache-2.0
// mT5 (Xue et al. 2021): T5 1.1 for 101 languages, whose decoder's outputs are never scaled.
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/t5/config.h"
#include "weft/models/families/t5/config_json.h"
#include "weft/models/families/t5/encoder.h"

namespace weft::models {
namespace {

EncoderDecoderConfig mt5_defaults() {
  EncoderDecoderConfig config = t5_family().pair->defaults;
  config.model_type = "mt5";
  config.vocab_size = 250112;
  config.encoder_layers = config.decoder_layers = 8;
  config.encoder_attention_heads = config.decoder_attention_heads = 6;
  config.encoder_ffn_dim = config.decoder_ffn_dim = 1024;
  T5Fields own;
  own.feed_forward_proj = "gated-gelu";
  own.scale_decoder_outputs = false;
  config.own = OwnFields(own);
  return config;
}

PairRules mt5_rules() {
  PairRules rules = *t5_family().pair;
  rules.class_name = "MT5ForConditionalGeneration";
  rules.base_class = "MT5Model";
  rules.defaults = mt5_defaults();
  rules.from_json = t5_from_json_with_one_scale;
  return rules;
}

}  // namespace

const Family& mt5_family() {
  static const PairRules rules = mt5_rules();
  static const EncoderRules encoder = encoder_of_pair(rules, "MT5Encoder");
  static const Family family{.name = "mt5", .model_type = "mt5", .encoder = &encoder, .pair = &rules};
  return family;
}

}  // namespace weft::models
