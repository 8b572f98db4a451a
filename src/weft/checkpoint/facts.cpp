// SPDX-License-Identifier: Apache-2.0
// The facts of each kind of config, and what a model needs for an ability.
#include <algorithm>

#include "weft/checkpoint/open_model.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/pair_rules.h"
#include "weft/text/hugging_face/tokenizer_classes.h"

namespace weft::checkpoint {
namespace {

constexpr std::int64_t kKeysAndValues = 2;

inspect::ModelShape layer_shape(std::int64_t width, std::int64_t inner) {
  inspect::ModelShape shape;
  shape.layers = 1;
  shape.heads = 1;
  shape.width = width;
  shape.feed_forward = inner;
  return shape;
}

Facts facts_of(const models::EncoderConfig& config) {
  const text::TokenizerClass* const usual = text::tokenizer_class_of(config.model_type);
  return {.family = config.model_type,
          .reads = {.stack = {config.num_hidden_layers, config.num_attention_heads},
                    .vocabulary = config.vocab_size,
                    .token_types = config.type_vocab_size,
                    .passes_types = usual != nullptr && usual->token_types,
                    .longest = config.maximum_length(),
                    .limit = config.maximum_length(),
                    .width = config.output_size()},
          .costs = {.layer = layer_shape(config.hidden_size, models::encoder_rules(config).costs(config).inner_width)}};
}

Facts facts_of(const models::EncoderDecoderConfig& config) {
  const auto limit = [&](std::int64_t positions) {
    return config.position_embedding == "learned" ? std::optional(positions) : std::nullopt;
  };
  const std::int64_t inner = std::max(config.encoder_ffn_dim, config.decoder_ffn_dim);
  const std::int64_t head = models::pair_rules(config).head_size(config);
  const std::int64_t columns = head > 0 ? config.decoder_attention_heads * head : config.d_model;
  return {.family = config.model_type,
          .reads = {.stack = {config.encoder_layers, config.encoder_attention_heads},
                    .vocabulary = config.vocab_size,
                    .longest = config.max_source_positions,
                    .limit = limit(config.max_source_positions),
                    .width = config.d_model},
          .writes = WritingFacts{.stack = {config.decoder_layers, config.decoder_attention_heads},
                                 .vocabulary = config.target_vocab_size(),
                                 .longest = config.max_target_positions,
                                 .limit = limit(config.max_target_positions)},
          .costs = {.layer = layer_shape(config.d_model, inner),
                    .state = config.decoder_layers * kKeysAndValues * columns,
                    .scores = config.target_vocab_size()}};
}

Facts facts_of(const models::TransformerConfig& config, std::string family) {
  const std::int64_t columns = config.key_value_heads() * config.head_dim();
  return {.family = std::move(family),
          .reads = {.stack = {config.num_hidden_layers, config.num_attention_heads},
                    .vocabulary = config.vocab_size,
                    .longest = config.max_position_embeddings,
                    .limit = models::position_limit(config),
                    .width = config.output_size(),
                    .is_causal = config.is_decoder,
                    .picture = config.picture_shape},
          .costs = {.layer = layer_shape(config.hidden_size, config.feed_forward_size()),
                    .state = config.num_hidden_layers * kKeysAndValues * columns,
                    .scores = config.vocab_size}};
}

}  // namespace

Facts OpenedModel::facts() const {
  for (const Ability ability : {Ability::kWrite, Ability::kPredict, Ability::kDraw}) {
    if (can(ability)) {
      return facts(ability);
    }
  }
  return facts(Ability::kRead);
}

Facts OpenedModel::facts(Ability ability) const {
  need(ability);
  switch (ability) {
    case Ability::kRead:
      return facts_of(encoder_config());
    case Ability::kWrite:
      return facts_of(encoder_decoder_config());
    default:
      return facts_of(own_config(), json_.at("model_type").get<std::string>());
  }
}

}  // namespace weft::checkpoint
