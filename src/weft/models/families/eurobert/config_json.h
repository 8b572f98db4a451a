// SPDX-License-Identifier: Apache-2.0
// EuroBERT's config.json, in the form of transformers 5 and in that of its authors.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::models {

/// The base of rotary positions as `rope_parameters` or as one number, pooling as `classifier_pooling` or
/// `clf_pooling`. Errors: as encoder_fields_from_json(); kUnsupported for scaled positions.
EncoderConfig eurobert_from_json(const formats::Json& json, std::string_view where,
                                 const std::filesystem::path& directory);

/// Both forms of the base, so that either version reads what is meant; numbers in place of 0.
formats::Json eurobert_to_json(const EncoderConfig& config, Head head);

}  // namespace weft::models
