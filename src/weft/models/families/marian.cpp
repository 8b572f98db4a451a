// SPDX-License-Identifier: Apache-2.0
// Marian (Junczys-Dowmunt et al. 2018): the Transformer of Vaswani et al., post-norm, with sines and cosines in halves;
// source and target may have tables of their own.
#include "weft/models/families/encoder_decoder_family.h"

namespace weft::models {
namespace {

EncoderDecoderConfig marian_defaults() {
  EncoderDecoderConfig config = bart_family().defaults;
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

EncoderDecoderFamily make_marian() {
  EncoderDecoderFamily family = bart_family();
  family.model_type = "marian";
  family.class_name = "MarianMTModel";
  family.base_class = "MarianModel";
  family.defaults = marian_defaults();
  family.fields.push_back({"decoder_vocab_size", "decoder_vocab_size"});
  family.fields.push_back({"share_embeddings", "share_encoder_decoder_embeddings"});
  family.shares_by_field = true;
  return family;
}

}  // namespace

const EncoderDecoderFamily& marian_family() {
  static const EncoderDecoderFamily family = make_marian();
  return family;
}

}  // namespace weft::models
