// SPDX-License-Identifier: Apache-2.0
// config.json of a Reformer that is an encoder with a head for a task, and back.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::checkpoint {

/// Errors: those of reformer_from_json(); kFormat or kArgument for labels.
models::EncoderConfig reformer_encoder_from_json(const formats::Json& json, const std::filesystem::path& directory);

/// Of a config whose attention is settled. Errors: those of reformer_to_json().
formats::Json reformer_encoder_to_json(const models::EncoderConfig& config, models::Head head);

}  // namespace weft::checkpoint
