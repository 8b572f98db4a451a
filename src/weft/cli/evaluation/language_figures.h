// SPDX-License-Identifier: Apache-2.0
// The figures of a language model, for people.
#pragma once

#include <string>

#include "weft/formats/config_json.h"

namespace weft::cli {

/// What runs::evaluate_language() gives as a table, a figure a row with its name.
std::string language_figures(const formats::Json& result);

}  // namespace weft::cli
