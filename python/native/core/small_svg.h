// SPDX-License-Identifier: Apache-2.0
// A pattern as a small SVG for a notebook: equal cells of a row are one rectangle, and a colour is one path.
#pragma once

#include <cstddef>
#include <string>

#include "weft/inspect/picture/picture.h"

namespace weft::python {

/// A whole SVG document with the panels, the expression, the lengths and the kinds of edges; no library draws it.
std::string small_svg(const inspect::Picture& picture);

/// The same with at most `request.maximum_cells` a side, and with fewer where it would have more than `bytes` bytes.
/// Errors: as make_picture().
std::string small_svg(const pattern::Pattern& pattern, inspect::PictureRequest request, std::size_t bytes);

}  // namespace weft::python
