// SPDX-License-Identifier: Apache-2.0
// A directory that CrossEncoder of sentence-transformers opens, versions 3 to 6: config.json says the activation.
#pragma once

#include <filesystem>

#include "weft/checkpoint/sentence/cross_encoder.h"

namespace weft::checkpoint {

/// Puts "sentence_transformers": {"activation_fn"} into the config.json of `directory`, which has the model. Errors:
/// kIo, kFormat.
void write_cross_encoder(const std::filesystem::path& directory, const CrossEncoderSettings& settings);

}  // namespace weft::checkpoint
