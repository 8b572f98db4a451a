// SPDX-License-Identifier: Apache-2.0
// An EncoderDecoderConfig to and from the config.json of its family.
#pragma once

#include <filesystem>

#include <c10/core/ScalarType.h>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_decoder_config.h"

namespace weft::models {

class EncoderDecoderImpl;
struct PairRules;

/// The config of `directory`/config.json, whose model_type names an encoder-decoder, Weft's own or one of Hugging Face.
/// Errors: kFormat, kArgument or kUnsupported naming the file and the field.
EncoderDecoderConfig pair_from_json(const formats::Json& json, const std::filesystem::path& directory);

/// The config.json of a model; options that replace the config's pattern are written into it.
formats::Json pair_to_json(const EncoderDecoderImpl& model);

// What families without a form of their own do (PairRules::from_json, to_json): field by field, under the family's
// names; what is no field of Weft's stays as it was.
EncoderDecoderConfig pair_fields_from_json(const PairRules& rules, const formats::Json& json,
                                           const std::filesystem::path& directory);
formats::Json pair_fields_to_json(const PairRules& rules, const EncoderDecoderConfig& config, at::ScalarType dtype);

}  // namespace weft::models
