// SPDX-License-Identifier: Apache-2.0
// Pegasus (Zhang et al. 2020): pre-norm with a last norm in both stacks, positions as Marian has them.
#include "weft/attention/sinusoids.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderDecoderConfig pegasus_defaults() {
  EncoderDecoderConfig config = bart_family().pair->defaults;
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

/// Files hold the positions, too.
NamedTensors pegasus_waves(const EncoderDecoderConfig& config, const at::TensorOptions& options) {
  const auto waves = [&](std::int64_t count) {
    return attention::sinusoidal_positions(0, count, config.d_model, options, true);
  };
  return {{"encoder.embed_positions.weight", waves(config.max_source_positions)},
          {"decoder.embed_positions.weight", waves(config.max_target_positions)}};
}

PairRules pegasus_rules() {
  PairRules rules = *bart_family().pair;
  rules.class_name = "PegasusForConditionalGeneration";
  rules.base_class = "PegasusModel";
  rules.defaults = pegasus_defaults();
  rules.constants = pegasus_waves;
  return rules;
}

}  // namespace

const Family& pegasus_family() {
  static const PairRules rules = pegasus_rules();
  static const Family family{.name = "pegasus", .model_type = "pegasus", .pair = &rules};
  return family;
}

}  // namespace weft::models
