// SPDX-License-Identifier: Apache-2.0
// The files of the attention page, inside the program.
#pragma once

#include <string_view>

namespace weft::page {

std::string_view viewer_script();  ///< painting.js and viewer.js
std::string_view viewer_style();   ///< viewer.css
std::string_view base_style();     ///< base.css, which stands before it: what all pages with controls share

}  // namespace weft::page
