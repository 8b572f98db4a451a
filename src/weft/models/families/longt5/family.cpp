// SPDX-License-Identifier: Apache-2.0
// LongT5 (Guo et al. 2022): T5 whose encoder sees a window of tokens, and with transient-global attention the sums of
// all blocks of the text.
#include "weft/core/error.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/t5/config.h"
#include "weft/models/families/t5/encoder.h"

namespace weft::models {
namespace {

EncoderDecoderConfig longt5_defaults() {
  EncoderDecoderConfig config = t5_family().pair->defaults;
  config.model_type = "longt5";
  config.own = OwnFields(LongT5Fields{});
  return config;
}

bool has_sums(const EncoderDecoderConfig& config) {
  return config.own.get<LongT5Fields>().encoder_attention_type == "transient-global";
}

std::string longt5_attention(const EncoderDecoderConfig& config, const EncoderOptions&, std::int64_t) {
  const auto& own = config.own.get<LongT5Fields>();
  return has_sums(config) ? concat("transient_global(radius=", own.local_radius, ", block=", own.global_block_size, ")")
                          : concat("window(", 2 * own.local_radius, ")");
}

/// The tensors that differ, in a file whose attention has that name.
std::vector<NameRow> names_of_attention(bool has_sums) {
  if (!has_sums) {
    return {
        {"encoder.layers.#.attention.qkv",
         {"~encoder.block.#.layer.0.LocalSelfAttention.q", "~encoder.block.#.layer.0.LocalSelfAttention.k",
          "~encoder.block.#.layer.0.LocalSelfAttention.v"}},
        {"encoder.layers.#.attention.output", {"~encoder.block.#.layer.0.LocalSelfAttention.o"}},
        {"encoder.layers.#.attention.mechanism.distance_biases",
         {"~encoder.block.#.layer.0.LocalSelfAttention.relative_attention_bias.weight"}},
    };
  }
  return {
      {"encoder.layers.#.attention.qkv",
       {"~encoder.block.#.layer.0.TransientGlobalSelfAttention.q",
        "~encoder.block.#.layer.0.TransientGlobalSelfAttention.k",
        "~encoder.block.#.layer.0.TransientGlobalSelfAttention.v"}},
      {"encoder.layers.#.attention.output", {"~encoder.block.#.layer.0.TransientGlobalSelfAttention.o"}},
      {"encoder.layers.#.attention.mechanism.distance_biases",
       {"~encoder.block.#.layer.0.TransientGlobalSelfAttention.relative_attention_bias.weight"}},
      {"encoder.layers.#.attention.mechanism.side_biases",
       {"~encoder.block.#.layer.0.TransientGlobalSelfAttention.global_relative_attention_bias.weight"}},
      {"encoder.layers.#.side_norm", {"~encoder.block.#.layer.0.TransientGlobalSelfAttention.global_input_layer_norm"}},
  };
}

std::vector<NameRow> longt5_names(const EncoderDecoderConfig& config) {
  std::vector<NameRow> names = names_of_attention(has_sums(config));
  const std::vector<NameRow> of_t5 = t5_family().pair->more_names(config);
  names.insert(names.end(), of_t5.begin(), of_t5.end());
  return names;
}

PairRules longt5_rules() {
  PairRules rules = *t5_family().pair;
  rules.class_name = "LongT5ForConditionalGeneration";
  rules.base_class = "LongT5Model";
  rules.defaults = longt5_defaults();
  rules.more_names = longt5_names;
  rules.encoder_attention = longt5_attention;
  return rules;
}

}  // namespace

const Family& longt5_family() {
  static const PairRules rules = longt5_rules();
  static const EncoderRules encoder = encoder_of_pair(rules, "LongT5Encoder");
  static const Family family{.name = "longt5", .model_type = "longt5", .encoder = &encoder, .pair = &rules};
  return family;
}

}  // namespace weft::models
