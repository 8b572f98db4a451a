// SPDX-License-Identifier: Apache-2.0
// Pictures for a paper, one or several on a sheet, as SVG and PNG: drawn by the same code on Cairo's surfaces.
#pragma once

#include <string>
#include <vector>

#include "weft/inspect/picture/picture.h"

namespace weft::inspect {

/// A whole SVG document.
std::string svg_picture(const Picture& picture);

/// A whole PNG file, two pixels a unit of the SVG.
std::string png_picture(const Picture& picture);

struct SheetEntry {
  std::string title;                 ///< above the picture
  Picture picture;                   ///< its first panel is drawn
  std::vector<std::string> figures;  ///< lines below it
};

/// A grid of pictures with one legend, as a whole SVG document or PNG file. Errors: kArgument for no entry.
std::string svg_sheet(const std::vector<SheetEntry>& entries);
std::string png_sheet(const std::vector<SheetEntry>& entries);

}  // namespace weft::inspect
