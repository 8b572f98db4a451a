// SPDX-License-Identifier: Apache-2.0
// Marian (Junczys-Dowmunt et al. 2018): the Transformer of Vaswani et al., post-norm, with sines and cosines in halves;
// source and target may have tables of their own.
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderDecoderConfig marian_defaults() {
  EncoderDecoderConfig config = bart_family().pair->defaults;
  config.model_type = "marian";
  config.vocab_size = 58101;
  config.position_embedding = "sinusoidal_halves";
  config.position_offset = 0;
  config.normalize_embedding = false;
  config.pad_token_id = 58100;
  config.bos_token_id = -1;
  config.eos_token_id = 0;
  config.decoder_start_token_id = 58100;
  return config;
}

PairRules marian_rules() {
  PairRules rules = *bart_family().pair;
  rules.class_name = "MarianMTModel";
  rules.base_class = "MarianModel";
  rules.defaults = marian_defaults();
  rules.fields.push_back({"decoder_vocab_size", "decoder_vocab_size"});
  rules.fields.push_back({"share_embeddings", "share_encoder_decoder_embeddings"});
  return rules;
}

}  // namespace

const Family& marian_family() {
  static const PairRules rules = marian_rules();
  static const Family family{.name = "marian", .model_type = "marian", .pair = &rules};
  return family;
}

}  // namespace weft::models
