// SPDX-License-Identifier: Apache-2.0
// What TransformerConfig::variant changes of a model: published models that differ from Weft's own in more than their
// fields say. A family with such a variant gives one of these from its folder.
#pragma once

#include <optional>
#include <string_view>

#include "weft/layers/adaptive/config.h"
#include "weft/models/stack/initialize.h"
#include "weft/models/stack/stack_config.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

// What Weft's own does.
void accept_fields(const TransformerConfig& config, std::string_view where);
std::optional<layers::AdaptiveConfig> clusters_of_cutoffs(const TransformerConfig& config);
void keep_shape(const TransformerConfig& config, StackConfig& stack);
void keep_first_values(const TransformerConfig& config, Initializer& initializer);

struct CausalVariant {
  std::string_view name;
  /// Rules beyond those of all configs. Errors: kArgument naming `where`.
  void (*check)(const TransformerConfig& config, std::string_view where) = accept_fields;
  /// The clusters of the vocabulary, where it has any.
  std::optional<layers::AdaptiveConfig> (*vocabulary)(const TransformerConfig& config) = clusters_of_cutoffs;
  /// Changes the stack that the fields describe.
  void (*shape)(const TransformerConfig& config, StackConfig& stack) = keep_shape;
  /// Changes how parameters begin.
  void (*first_values)(const TransformerConfig& config, Initializer& initializer) = keep_first_values;
};

/// That of a config whose fields have been checked.
const CausalVariant& variant_of(const TransformerConfig& config);

const CausalVariant& own_variant();
const CausalVariant& transfo_xl_variant();
const CausalVariant& scores_by_layer_variant();

}  // namespace weft::models
