// SPDX-License-Identifier: Apache-2.0
// config.json of encoder-decoders: those of Hugging Face's families, and Weft's own, where every field that changes
// what a model is must be there.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_decoder.h"

namespace weft::checkpoint {

/// Errors: kFormat, kArgument or kUnsupported naming the file and the field.
models::EncoderDecoderConfig encoder_decoder_from_json(const formats::Json& json,
                                                       const std::filesystem::path& directory);

/// The whole file, the options that the model runs by included.
formats::Json encoder_decoder_to_json(const models::EncoderDecoderImpl& model);

}  // namespace weft::checkpoint
