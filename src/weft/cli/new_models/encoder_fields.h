// SPDX-License-Identifier: Apache-2.0
// Flags for the shape of an encoder of any family.
#pragma once

#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "weft/cli/front/field_flags.h"

namespace weft::cli {

/// A flag for every field that all encoders share, and for every one that a family has alone; help names those that
/// have it. `given` as add_fields().
void add_encoder_fields(CLI::App& app, const FlagGroup& group, formats::Json& given);

/// The names of all of them.
std::vector<std::string_view> encoder_field_names();

}  // namespace weft::cli
