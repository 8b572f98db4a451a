// SPDX-License-Identifier: Apache-2.0
// The encoder-decoders that `weft init` makes: random weights of a family, or an encoder's weights on both sides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "weft/cli/front/field_flags.h"
#include "weft/formats/config_json.h"
#include "weft/models/encoder_decoder.h"

namespace weft::cli {

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

/// Fields of EncoderDecoderConfig that are no flags of `weft init`: encoders have those flags, or a family decides.
std::vector<std::string_view> pair_fields_left_out();

/// A flag for every field that a family of encoder-decoders has alone, and no encoder; help names those that have it.
void add_pair_own_fields(CLI::App& app, const FlagGroup& group, formats::Json& given);

/// Errors: kArgument for fields that do not fit; those of the config, the encoder and warm_start().
models::EncoderDecoder make_pair(const PairRequest& request);

}  // namespace weft::cli
