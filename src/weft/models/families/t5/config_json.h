// SPDX-License-Identifier: Apache-2.0
// The config.json of T5 and of the families that descend from it.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_decoder_config.h"

namespace weft::models {

struct PairRules;

/// PairRules::from_json of T5: `scale_decoder_outputs` is what the file says or, in older files, whether
/// tie_word_embeddings is not false. Tables are tied where the weights have no other head, whatever the file says.
EncoderDecoderConfig t5_from_json(const PairRules& rules, const formats::Json& json,
                                  const std::filesystem::path& directory);

/// The same of a family whose decoder always scales its outputs as its defaults do, whatever the file says.
EncoderDecoderConfig t5_from_json_with_one_scale(const PairRules& rules, const formats::Json& json,
                                                 const std::filesystem::path& directory);

}  // namespace weft::models
