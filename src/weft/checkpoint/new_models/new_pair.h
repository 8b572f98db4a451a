// SPDX-License-Identifier: Apache-2.0
// New encoder-decoders: random weights of a family, or an encoder's weights on both sides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_decoder.h"

namespace weft::checkpoint {

/// What was asked for; empty where it was not.
struct PairRequest {
  std::string family;
  std::filesystem::path config;  ///< a config.json whose shape is taken
  std::string encoder;           ///< directory of the encoder that starts both sides
  std::string tokenizer;         ///< directory
  formats::Json shape;           ///< fields of EncoderDecoderConfig
  std::int64_t seed = 0;
};

/// Whether a family or the config.json at `config` (may be empty) is an encoder-decoder's.
bool asks_for_pair(const std::string& family, const std::filesystem::path& config);

/// Errors: kArgument for fields that do not fit; those of the config, the encoder and warm_start().
models::EncoderDecoder new_pair(const PairRequest& request);

}  // namespace weft::checkpoint
