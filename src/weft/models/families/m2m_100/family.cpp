// SPDX-License-Identifier: Apache-2.0
// M2M100 (Fan et al. 2021) and NLLB (Costa-jussa et al. 2022): pre-norm with a last norm in both stacks, sines and
// cosines of the tokens that are not padding.
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderDecoderConfig m2m_100_defaults() {
  EncoderDecoderConfig config = bart_family().pair->defaults;
  config.model_type = "m2m_100";
  config.vocab_size = 128112;
  config.position_embedding = "sinusoidal_counted";
  config.position_offset = 0;
  config.norm_position = "pre";
  config.normalize_embedding = false;
  config.scale_embedding = true;
  config.activation_function = "relu";
  config.attention_dropout = 0.1;
  return config;
}

PairRules m2m_100_rules() {
  PairRules rules = *bart_family().pair;
  rules.class_name = "M2M100ForConditionalGeneration";
  rules.base_class = "M2M100Model";
  rules.defaults = m2m_100_defaults();
  rules.has_head_bias = false;
  // Older files have a table of waves.
  rules.idle_names.insert(rules.idle_names.end(),
                          {"encoder.embed_positions.weights", "decoder.embed_positions.weights"});
  return rules;
}

}  // namespace

const Family& m2m_100_family() {
  static const PairRules rules = m2m_100_rules();
  static const Family family{.name = "m2m_100", .model_type = "m2m_100", .pair = &rules};
  return family;
}

}  // namespace weft::models
