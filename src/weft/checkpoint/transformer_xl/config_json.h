// SPDX-License-Identifier: Apache-2.0
// config.json of a Transformer-XL directory, as transformers 4 had it (model_type transfo-xl), to a model of Weft's own
// and back.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"

namespace weft::checkpoint {

/// `model_type` of these directories.
inline constexpr const char* kTransformerXl = "transfo-xl";

/// Fields that are missing have the defaults of transformers 4.35. Errors: kFormat, kArgument or kUnsupported naming
/// the file and the field.
models::TransformerConfig transformer_xl_from_json(const formats::Json& json, const std::filesystem::path& directory);

/// Errors: kUnsupported for a model that such a directory cannot hold, naming the field.
formats::Json transformer_xl_to_json(const models::TransformerConfig& config);

}  // namespace weft::checkpoint
