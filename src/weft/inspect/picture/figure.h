// SPDX-License-Identifier: Apache-2.0
// The drawing of a figure on any Cairo context: title, panels with axes, legend. Units are points.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/inspect/picture/cairo_library.h"
#include "weft/inspect/picture/picture.h"

namespace weft::inspect {

/// Where things go; made by measuring the text of a picture once.
struct FigureLayout {
  double width = 0;
  double height = 0;
  double cell = 0;  ///< side of a cell
  std::int64_t panels_across = 1;
  double panel_width = 0;  ///< with axes and the space to the next
  double panel_height = 0;
  double panels_top = 0;
  double legend_top = 0;
  std::vector<std::string> title;  ///< the expression, broken to the width
  std::vector<std::string> figures;
};

/// Where the first cell of a panel lies, and the side of a cell.
struct CellPlace {
  double x = 0;
  double y = 0;
  double side = 1;
};

/// Draws the cells of a panel, without axes or words.
void draw_cells(cairo_t* context, const Picture& picture, const PicturePanel& panel, const CellPlace& at);

FigureLayout figure_layout(cairo_t* context, const Picture& picture);

/// Draws the whole figure, white background included.
void draw_figure(cairo_t* context, const Picture& picture, const FigureLayout& layout);

}  // namespace weft::inspect
