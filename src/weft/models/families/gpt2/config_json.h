// SPDX-License-Identifier: Apache-2.0
// A TransformerConfig to and from the config.json of GPT-2.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// Errors: kFormat, kArgument or kUnsupported naming the file and the field: another class than one with a head over
/// the vocabulary, cross-attention, scores without a scale.
TransformerConfig gpt2_from_json(const formats::Json& json, const std::filesystem::path& directory);

/// Errors: kUnsupported for a model that GPT-2 cannot be, naming the field.
formats::Json gpt2_to_json(const TransformerConfig& config);

}  // namespace weft::models
