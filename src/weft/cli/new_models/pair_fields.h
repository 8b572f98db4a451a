// SPDX-License-Identifier: Apache-2.0
// Flags for the shape of an encoder-decoder of any family.
#pragma once

#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "weft/cli/front/field_flags.h"

namespace weft::cli {

/// Fields of EncoderDecoderConfig that are no flags of `weft init`: encoders have those flags, or a family decides.
std::vector<std::string_view> pair_fields_left_out();

/// A flag for every field that a family of encoder-decoders has alone, and no encoder; help names those that have it.
void add_pair_own_fields(CLI::App& app, const FlagGroup& group, formats::Json& given);

}  // namespace weft::cli
