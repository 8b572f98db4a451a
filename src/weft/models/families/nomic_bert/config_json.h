// SPDX-License-Identifier: Apache-2.0
// NomicBERT's config.json, in the form of transformers 5 and in that of its authors, whose fields are GPT-2's.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::models {

/// Errors: as encoder_fields_from_json(); kUnsupported for what would change the result and is not here: experts,
/// positions that turn a part of a head or neighbouring columns, norms in front, biases, other norms. A text longer
/// than the model was trained for, which its authors scale, is beyond max_position_embeddings.
EncoderConfig nomic_bert_from_json(const formats::Json& json, std::string_view where,
                                   const std::filesystem::path& directory);

/// The form of transformers.
formats::Json nomic_bert_to_json(const EncoderConfig& config, Head head);

}  // namespace weft::models
