// SPDX-License-Identifier: Apache-2.0
// config.json of a Reformer that is an encoder with a head for a task, and back.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::models {

/// Errors: those of reformer_from_json(); kFormat or kArgument for labels.
EncoderConfig reformer_encoder_from_json(const formats::Json& json, std::string_view where,
                                         const std::filesystem::path& directory);

/// Of a config whose attention is settled. Errors: those of reformer_to_json().
formats::Json reformer_encoder_to_json(const EncoderConfig& config, Head head);

}  // namespace weft::models
