// SPDX-License-Identifier: Apache-2.0
// LongT5 (Guo et al. 2022) with local attention: T5 whose encoder sees a window of tokens.
#include "weft/core/error.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/t5/config.h"

namespace weft::models {
namespace {

EncoderDecoderConfig longt5_defaults() {
  EncoderDecoderConfig config = t5_family().pair->defaults;
  config.model_type = "longt5";
  config.own = OwnFields(LongT5Fields{});
  return config;
}

void check_longt5(const EncoderDecoderConfig& config, std::string_view where) {
  t5_family().pair->check(config, where);
  if (config.own.get<LongT5Fields>().encoder_attention_type != "local" && config.encoder_attention.empty()) {
    fail(ErrorKind::kUnsupported, where, ": encoder_attention_type must be local, found transient-global; ",
         "encoder_attention names another attention for the encoder");
  }
}

std::string longt5_attention(const EncoderDecoderConfig& config, const EncoderOptions&, std::int64_t) {
  return concat("window(", 2 * config.own.get<LongT5Fields>().local_radius, ")");
}

/// The tensors that differ.
std::vector<NameRow> longt5_names() {
  std::vector<NameRow> names = {
      {"encoder.layers.#.attention.qkv",
       {"~encoder.block.#.layer.0.LocalSelfAttention.q", "~encoder.block.#.layer.0.LocalSelfAttention.k",
        "~encoder.block.#.layer.0.LocalSelfAttention.v"}},
      {"encoder.layers.#.attention.output", {"~encoder.block.#.layer.0.LocalSelfAttention.o"}},
      {"encoder.layers.#.attention.mechanism.distance_biases",
       {"~encoder.block.#.layer.0.LocalSelfAttention.relative_attention_bias.weight"}},
  };
  names.insert(names.end(), t5_family().pair->names.begin(), t5_family().pair->names.end());
  return names;
}

PairRules longt5_rules() {
  PairRules rules = *t5_family().pair;
  rules.class_name = "LongT5ForConditionalGeneration";
  rules.base_class = "LongT5Model";
  rules.defaults = longt5_defaults();
  rules.names = longt5_names();
  rules.check = check_longt5;
  rules.encoder_attention = longt5_attention;
  return rules;
}

}  // namespace

const Family& longt5_family() {
  static const PairRules rules = longt5_rules();
  static const Family family{.name = "longt5", .model_type = "longt5", .pair = &rules};
  return family;
}

}  // namespace weft::models
