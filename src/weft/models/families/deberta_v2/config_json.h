// SPDX-License-Identifier: Apache-2.0
// DeBERTa's config.json.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::models {

/// `pos_att_type` as a list or as one text, "p2c|c2p". Errors: as encoder_fields_from_json(); kUnsupported for heads or
/// a pooler of another width than the layers have.
EncoderConfig deberta_v2_from_json(const formats::Json& json, std::string_view where,
                                   const std::filesystem::path& directory);

/// With `legacy`, by which transformers chooses the names of the head for masked words.
formats::Json deberta_v2_to_json(const EncoderConfig& config, Head head);

}  // namespace weft::models
