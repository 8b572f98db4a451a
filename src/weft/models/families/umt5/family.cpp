// SPDX-License-Identifier: Apache-2.0
// umT5 (Chung et al. 2023): mT5 whose layers each learn their scores of distances.
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/t5/config.h"
#include "weft/models/families/t5/encoder.h"

namespace weft::models {
namespace {

EncoderDecoderConfig umt5_defaults() {
  EncoderDecoderConfig config = mt5_family().pair->defaults;
  config.model_type = "umt5";
  config.own.get<T5Fields>().scale_decoder_outputs = true;
  return config;
}

void give_each_layer_scores(StackConfig& stack) {
  for (layers::BlockConfig& block : stack.blocks) {
    block.distance_buckets->in_each_layer = true;
  }
}

StackConfig umt5_source(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = mt5_family().pair->encoder(config, options);
  give_each_layer_scores(stack);
  return stack;
}

StackConfig umt5_target(const EncoderDecoderConfig& config) {
  StackConfig stack = mt5_family().pair->decoder(config);
  give_each_layer_scores(stack);
  return stack;
}

PairRules umt5_rules() {
  PairRules rules = *mt5_family().pair;
  rules.class_name = "UMT5ForConditionalGeneration";
  rules.base_class = "UMT5Model";
  rules.defaults = umt5_defaults();
  rules.encoder = umt5_source;
  rules.decoder = umt5_target;
  return rules;
}

}  // namespace

const Family& umt5_family() {
  static const PairRules rules = umt5_rules();
  static const EncoderRules encoder = encoder_of_pair(rules, "UMT5Encoder");
  static const Family family{.name = "umt5", .model_type = "umt5", .encoder = &encoder, .pair = &rules};
  return family;
}

}  // namespace weft::models
