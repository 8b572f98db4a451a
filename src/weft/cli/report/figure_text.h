// SPDX-License-Identifier: Apache-2.0
// Figures and settings of a run as a person reads them: four places behind the point, whole numbers in groups.
#pragma once

#include <string>

#include "weft/formats/config_json.h"

namespace weft::cli {

/// "0.9123", "1,234", "5.33e-05", "1m12s" for the figures `seconds` and `time`, "undefined" for null.
std::string figure_text(const std::string& name, const formats::Json& value);

/// "5e-05", "linear", "true"; a list as its items with commas between, "none" for an empty one, "-" for null.
std::string setting_text(const formats::Json& value);

/// Text of unknown origin for a terminal: control characters and bytes that are no UTF-8 as \xNN.
std::string printable(const std::string& text);

}  // namespace weft::cli
