// SPDX-License-Identifier: Apache-2.0
// All of a Transformer-XL but its attention and positions, as released: embeddings times the root of their width and
// without a norm, a vocabulary that always has a cluster, attention without biases, dropout of distances and behind the
// last layer, and first values of its own.
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/families/causal_variant.h"

namespace weft::models {
namespace {

void check_transfo_xl(const TransformerConfig& config, std::string_view where) {
  require(config.norm_position == "post" && config.position_embedding == "none", where,
          ": variant transformer-xl needs norm_position post and position_embedding none, found ", config.norm_position,
          " and ", config.position_embedding);
}

std::optional<layers::AdaptiveConfig> transfo_xl_vocabulary(const TransformerConfig& config) {
  return layers::AdaptiveConfig{config.vocab_size, config.hidden_size, config.vocabulary_cutoffs,
                                config.vocabulary_division};
}

void shape_transfo_xl(const TransformerConfig& config, StackConfig& stack) {
  stack.embeddings.norm.reset();
  stack.embeddings.token_scale = std::sqrt(static_cast<double>(config.hidden_size));
  for (layers::BlockConfig& block : stack.blocks) {
    block.qkv_bias = block.output_bias = false;
    block.position_dropout = config.hidden_dropout_prob;
  }
  stack.last_dropout = config.hidden_dropout_prob;
}

void begin_transfo_xl(const TransformerConfig& config, Initializer& initializer) {
  constexpr double kProjectionRange = 0.01;
  initializer.norm_range = config.initializer_range;
  initializer.projection_range = kProjectionRange;
}

}  // namespace

const CausalVariant& transfo_xl_variant() {
  static const CausalVariant variant{.name = "transformer-xl",
                                     .check = check_transfo_xl,
                                     .vocabulary = transfo_xl_vocabulary,
                                     .shape = shape_transfo_xl,
                                     .first_values = begin_transfo_xl};
  return variant;
}

}  // namespace weft::models
