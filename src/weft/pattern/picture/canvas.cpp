// SPDX-License-Identifier: Apache-2.0
// A picture measures its text first, and is then drawn on either surface.
#include "weft/pattern/picture/canvas.h"

#include "weft/pattern/picture/drawing.h"
#include "weft/pattern/picture/figure.h"

namespace weft::pattern {
namespace {

Drawing drawing_of(const Picture& picture) {
  FigureLayout layout;
  with_measuring_context([&](cairo_t* context) { layout = figure_layout(context, picture); });
  return {layout.width, layout.height, [&picture, layout](cairo_t* context) { draw_figure(context, picture, layout); }};
}

}  // namespace

std::string svg_picture(const Picture& picture) { return svg_of(drawing_of(picture)); }

std::string png_picture(const Picture& picture) { return png_of(drawing_of(picture)); }

}  // namespace weft::pattern
