// SPDX-License-Identifier: Apache-2.0
// BigBird-Pegasus (Zaheer et al. 2020): Pegasus with learned positions and without biases in attention; the encoder
// attends as BigBird does, the decoder in full.
#include "weft/models/encoder/block_sparse.h"
#include "weft/models/families/bigbird_pegasus/config.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderDecoderConfig bigbird_pegasus_defaults() {
  EncoderDecoderConfig config = bart_family().pair->defaults;
  config.model_type = "bigbird_pegasus";
  config.vocab_size = 96103;
  config.encoder_layers = 16;
  config.decoder_layers = 16;
  config.max_source_positions = 4096;
  config.max_target_positions = 4096;
  config.position_offset = 0;
  config.norm_position = "pre";
  config.normalize_embedding = false;  // the norm of that name stands behind the last layer
  config.scale_embedding = true;
  config.activation_function = "gelu_new";
  config.attention_bias = false;
  config.pad_token_id = 0;
  config.bos_token_id = 2;
  config.eos_token_id = 1;
  config.own = OwnFields(BigBirdPegasusFields{});
  return config;
}

BlockSparse sparse_source(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  return block_sparse(config.own.get<BigBirdPegasusFields>(), options);
}

std::string source_attention(const EncoderDecoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  return block_sparse_pattern(sparse_source(config, options), layer);
}

layers::SelfAttentionFactory source_layer(const EncoderDecoderConfig& config, const EncoderOptions& options,
                                          bool replaced) {
  return replaced ? layers::SelfAttentionFactory() : block_sparse_layer(sparse_source(config, options));
}

PassSettings source_passes(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  const BlockSparse sparse = sparse_source(config, options);
  PassSettings settings = one_source_pass(config, options);
  settings.full_until = replacing_attention(config, options, 0).empty() ? sparse.full_until() : -1;
  settings.pad_like_hf = options.pad_like_hf;
  settings.random = options.random;
  settings.block = sparse.block;
  return settings;
}

std::vector<NameRow> bigbird_pegasus_names() {
  std::vector<NameRow> names = {
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layers.#.self_attn.self.query", "~encoder.layers.#.self_attn.self.key",
        "~encoder.layers.#.self_attn.self.value"}},
      {"encoder.layers.#.attention.output", {"~encoder.layers.#.self_attn.output"}},
      {"encoder.norm", {"~encoder.layernorm_embedding"}},
      {"decoder.norm", {"~decoder.layernorm_embedding"}},
  };
  names.insert(names.end(), bart_family().pair->names.begin(), bart_family().pair->names.end());
  return names;
}

PairRules bigbird_pegasus_rules() {
  PairRules rules = *bart_family().pair;
  rules.class_name = "BigBirdPegasusForConditionalGeneration";
  rules.base_class = "BigBirdPegasusModel";
  rules.defaults = bigbird_pegasus_defaults();
  rules.fields.push_back({"attention_bias", "use_bias"});
  rules.names = bigbird_pegasus_names();
  rules.second_names.push_back({"attention_probs_dropout_prob", "attention_dropout"});
  rules.encoder_attention = source_attention;
  rules.encoder_layer = source_layer;
  rules.passes = source_passes;
  return rules;
}

}  // namespace

const Family& bigbird_pegasus_family() {
  static const PairRules rules = bigbird_pegasus_rules();
  static const Family family{.name = "bigbird_pegasus", .model_type = "bigbird_pegasus", .pair = &rules};
  return family;
}

}  // namespace weft::models
