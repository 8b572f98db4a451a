// SPDX-License-Identifier: Apache-2.0
// Flags of `weft train` and `weft eval` that belong to fine-tuning and to pairs of texts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "weft/cli/front/field_flags.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// Adds the groups "Fine-tuning" and "Examples" to `weft train`.
void add_fine_tuning_flags(CLI::App& app, formats::Json& given);
/// Adds the groups "Pairs" and "Encoder-decoder": what no other group has.
void add_pair_flags(CLI::App& app, formats::Json& given);
/// The fields of examples alone, for `weft eval`.
void add_example_flags(CLI::App& app, formats::Json& given);

/// What the help of the trainer's fields says of fine-tuning: the defaults that differ.
std::map<std::string_view, std::string> fine_tuning_remarks();

}  // namespace weft::cli
