// SPDX-License-Identifier: Apache-2.0
// config.json of a Transformer-XL directory, as transformers 4 had it (model_type transfo-xl), to a model of Weft's own
// and back.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// `model_type` of these directories.
inline constexpr const char* kTransfoXl = "transfo-xl";

/// Fields that are missing have the defaults of transformers 4.35. Errors: kFormat, kArgument or kUnsupported naming
/// the file and the field.
TransformerConfig transfo_xl_from_json(const formats::Json& json, const std::filesystem::path& directory);

/// Errors: kUnsupported for a model that such a directory cannot hold, naming the field.
formats::Json transfo_xl_to_json(const TransformerConfig& config);

}  // namespace weft::models
