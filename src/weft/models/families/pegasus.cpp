// SPDX-License-Identifier: Apache-2.0
// Pegasus (Zhang et al. 2020): pre-norm with a last norm in both stacks, positions as Marian has them.
#include "weft/models/families/encoder_decoder_family.h"

namespace weft::models {
namespace {

EncoderDecoderConfig pegasus_defaults() {
  EncoderDecoderConfig config = bart_family().defaults;
  config.model_type = "pegasus";
  config.position_embedding = "sinusoidal_halves";
  config.position_offset = 0;
  config.norm_position = "pre";
  config.normalize_embedding = false;
  config.pad_token_id = 0;
  config.bos_token_id = -1;
  config.eos_token_id = 1;
  config.decoder_start_token_id = 0;
  return config;
}

EncoderDecoderFamily make_pegasus() {
  EncoderDecoderFamily family = bart_family();
  family.model_type = "pegasus";
  family.class_name = "PegasusForConditionalGeneration";
  family.base_class = "PegasusModel";
  family.defaults = pegasus_defaults();
  family.saves_positions = true;
  return family;
}

}  // namespace

const EncoderDecoderFamily& pegasus_family() {
  static const EncoderDecoderFamily family = make_pegasus();
  return family;
}

}  // namespace weft::models
