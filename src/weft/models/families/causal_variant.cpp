// SPDX-License-Identifier: Apache-2.0
// The table of variants, and what Weft's own is.
#include "weft/models/families/causal_variant.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::models {

void accept_fields(const TransformerConfig&, std::string_view) {}

std::optional<layers::AdaptiveConfig> clusters_of_cutoffs(const TransformerConfig& config) {
  return config.vocabulary_cutoffs.empty()
             ? std::nullopt
             : std::optional(layers::AdaptiveConfig{config.vocab_size, config.hidden_size, config.vocabulary_cutoffs,
                                                    config.vocabulary_division});
}

void keep_shape(const TransformerConfig&, StackConfig&) {}
void keep_first_values(const TransformerConfig&, Initializer&) {}

const CausalVariant& own_variant() {
  static const CausalVariant variant{.name = "weft"};
  return variant;
}

const CausalVariant& variant_of(const TransformerConfig& config) {
  static const std::array variants{&own_variant(), &transfo_xl_variant(), &scores_by_layer_variant()};
  const auto* const found = std::find_if(variants.begin(), variants.end(),
                                         [&](const CausalVariant* variant) { return variant->name == config.variant; });
  require(found != variants.end(), "model config: no variant has the name ", [&] { return quote(config.variant); });
  return **found;
}

}  // namespace weft::models
