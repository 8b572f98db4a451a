// SPDX-License-Identifier: Apache-2.0
// The files of the attention page, inside the program.
#pragma once

#include <string_view>

namespace weft::cli {

std::string_view viewer_script();  ///< viewer.js
std::string_view viewer_style();   ///< viewer.css

}  // namespace weft::cli
