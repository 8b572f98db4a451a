// SPDX-License-Identifier: Apache-2.0
// An EncoderConfig to and from the config.json of Hugging Face.
#pragma once

#include <string>
#include <string_view>

#include <ATen/core/ScalarType.h>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_model.h"

namespace weft::checkpoint {

/// Reads what Weft knows and passes over the rest, but refuses what would change the result (kUnsupported). Where the
/// text is silent, transformers' own defaults hold. Errors name `where` and the field.
models::EncoderConfig encoder_config_from_json(const formats::Json& json, std::string_view where);

/// What transformers reads for the model; options that replace the config's pattern are written into it.
formats::Json encoder_config_to_json(const models::EncoderModelImpl& model);

/// Whether a field of EncoderConfig is for the family of that name, alone or among others. Errors: kArgument for a name
/// that is no family.
bool family_has_field(std::string_view model_type, std::string_view field);

}  // namespace weft::checkpoint
