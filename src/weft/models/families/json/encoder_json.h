// SPDX-License-Identifier: Apache-2.0
// An EncoderConfig to and from the config.json of Hugging Face.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_model.h"

namespace weft::models {

/// Reads what Weft knows and passes over the rest, but refuses what would change the result (kUnsupported). Where the
/// text is silent, transformers' own defaults hold. `directory`: that files named in it lie below. Errors name `where`
/// and the field.
EncoderConfig encoder_config_from_json(const formats::Json& json, std::string_view where,
                                       const std::filesystem::path& directory = {});

/// What transformers reads for the model; options that replace the config's pattern are written into it.
formats::Json encoder_config_to_json(const EncoderModelImpl& model);

// What families without a form of their own do (EncoderRules::from_json, to_json): field by field, under the family's
// names.
EncoderConfig encoder_fields_from_json(const formats::Json& json, std::string_view where,
                                       const std::filesystem::path& directory);
formats::Json encoder_fields_to_json(const EncoderConfig& config, Head head);

}  // namespace weft::models
