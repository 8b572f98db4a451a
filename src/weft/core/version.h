// SPDX-License-Identifier: Apache-2.0
// The version of Weft, as config.json, run directories and `weft --version` carry it.
#pragma once

#include <string_view>

namespace weft {

/// MAJOR.MINOR.PATCH.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace weft
