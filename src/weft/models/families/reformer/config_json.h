// SPDX-License-Identifier: Apache-2.0
// config.json of a Reformer directory of transformers (model_type reformer) to a model of Weft's own and back.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// Fields that are missing have the defaults of transformers 5.23. Errors: kFormat, kArgument or kUnsupported naming
/// the file and the field. Of a Reformer with a head for a task: its stack, as that of
/// ReformerForMaskedLM.
TransformerConfig reformer_from_json(const formats::Json& json, const std::filesystem::path& directory);

/// Errors: kUnsupported for a model that such a directory cannot hold, naming the field.
formats::Json reformer_to_json(const TransformerConfig& config);

}  // namespace weft::models
