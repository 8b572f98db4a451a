// SPDX-License-Identifier: Apache-2.0
// ModernBERT's config.json, in the form of transformers 4.48 and in that of 5.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::models {

/// Kinds of layers as `layer_types` or as one in so many, bases of rotary positions as `rope_parameters` or as two
/// numbers. Errors: as encoder_fields_from_json(); kUnsupported for scaled positions.
EncoderConfig modernbert_from_json(const formats::Json& json, std::string_view where,
                                   const std::filesystem::path& directory);

/// Both forms, where one in so many is true of the layers, so that either version reads what is meant.
formats::Json modernbert_to_json(const EncoderConfig& config, Head head);

}  // namespace weft::models
