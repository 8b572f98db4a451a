// SPDX-License-Identifier: Apache-2.0
// A picture as a figure for a paper: SVG and PNG, drawn by the same code on Cairo's surfaces.
#pragma once

#include <string>

#include "weft/pattern/picture/picture.h"

namespace weft::pattern {

/// A whole SVG document.
std::string svg_picture(const Picture& picture);

/// A whole PNG file, two pixels a unit of the SVG.
std::string png_picture(const Picture& picture);

}  // namespace weft::pattern
