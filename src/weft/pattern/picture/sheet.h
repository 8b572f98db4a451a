// SPDX-License-Identifier: Apache-2.0
// Several patterns side by side on one sheet, each with its figures below it.
#pragma once

#include <string>
#include <vector>

#include "weft/pattern/picture/picture.h"

namespace weft::pattern {

struct SheetEntry {
  std::string title;                 ///< above the picture
  Picture picture;                   ///< its first panel is drawn
  std::vector<std::string> figures;  ///< lines below it
};

/// A grid of pictures with one legend, as a whole SVG document or PNG file. Errors: kArgument for no entry.
std::string svg_sheet(const std::vector<SheetEntry>& entries);
std::string png_sheet(const std::vector<SheetEntry>& entries);

}  // namespace weft::pattern
