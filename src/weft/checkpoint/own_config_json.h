// SPDX-License-Identifier: Apache-2.0
// A TransformerConfig to and from the config.json of Weft's own models.
#pragma once

#include <filesystem>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"

namespace weft::checkpoint {

/// The config that `json` says, of `directory`/config.json. Errors: kFormat or kArgument naming the file, the field and
/// the rule.
models::TransformerConfig own_config_from_json(const formats::Json& json, const std::filesystem::path& directory);

/// The text of a config.json.
std::string own_config_text(const models::TransformerConfig& config);

}  // namespace weft::checkpoint
