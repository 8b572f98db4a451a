// SPDX-License-Identifier: Apache-2.0
// A TransformerConfig to and from the config.json of Weft's own models.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// The config that `json` says, of `directory`/config.json. Errors: kFormat or kArgument naming the file, the field and
/// the rule.
TransformerConfig own_config_from_json(const formats::Json& json, const std::filesystem::path& directory);

formats::Json own_config_to_json(const TransformerConfig& config);

}  // namespace weft::models
