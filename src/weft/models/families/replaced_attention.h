// SPDX-License-Identifier: Apache-2.0
// Another attention than a family's in some or all layers of an encoder, by its config or by the options of whoever
// opens it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/encoder_config.h"

namespace weft::models {

struct EncoderOptions;  // encoder_model.h

/// The mechanism that replaces the family's own in a layer; empty: none does. `A => B` replaces it where it is A.
std::string replacing_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer);

/// `A => B` as a list of all layers. Errors: kArgument where no layer has A.
void list_attention(EncoderConfig& config);

/// Errors: UsageError where the options say how random blocks are drawn, and the family draws none.
void check_random(const EncoderOptions& options, bool draws, std::string_view families, std::string_view family);

/// Errors: UsageError for settings of a family's own attention where a config's `attention` replaces it.
void check_replaced(const EncoderOptions& options, const std::vector<std::string>& attention);

/// The config that a model with these options has. Errors: kArgument for options that the family has not got.
EncoderConfig with_options(const EncoderConfig& config, const EncoderOptions& options);

}  // namespace weft::models
