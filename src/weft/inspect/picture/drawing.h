// SPDX-License-Identifier: Apache-2.0
// Text and rectangles on a Cairo context, and the fonts and colours that all figures share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/inspect/picture/cairo_library.h"
#include "weft/inspect/picture/style.h"

namespace weft::inspect {

inline constexpr Colour kInk{0.13, 0.13, 0.15};
inline constexpr Colour kGrey{0.42, 0.42, 0.45};

/// A way to write.
struct Text {
  double size = 10.5;
  bool monospace = false;
  bool bold = false;
  Colour colour = kGrey;
};
inline constexpr Text kTitle{12.5, true, true, kInk};
inline constexpr Text kBody{10.5, false, false, kGrey};
inline constexpr Text kTick{9, false, false, kGrey};
inline constexpr Text kPanelLabel{10.5, false, true, kInk};

inline constexpr double kMargin = 22;  // around a figure
inline constexpr double kLine = 15;    // from one line of text to the next

void set_colour(cairo_t* context, const Colour& colour);
double text_width(cairo_t* context, const Text& text, const std::string& words);
/// `align` is the part of the text's width that lies left of x: 0, 0.5 or 1.
void draw_text(cairo_t* context, const Text& text, const std::string& words, double x, double y, double align = 0);
/// Breaks at spaces where a line would pass `width`; a single word is left as long as it is.
std::vector<std::string> wrapped(cairo_t* context, const Text& text, const std::string& words, double width);
void fill(cairo_t* context, const Colour& colour, double x, double y, double width, double height);

/// Squares of colour with names, from `x` on, in lines up to `right`, kLegendLine apart.
struct LegendEntry {
  Colour colour;
  std::string name;
};
inline constexpr double kLegendLine = kLine + 2;
/// Lines that draw_legend() would draw.
int legend_lines(cairo_t* context, const std::vector<LegendEntry>& entries, double x, double right);
void draw_legend(cairo_t* context, const std::vector<LegendEntry>& entries, double x, double y, double right);

/// A figure that knows its size, in points.
struct Drawing {
  double width = 0;
  double height = 0;
  std::function<void(cairo_t* context)> draw;
};

/// A whole SVG document.
std::string svg_of(const Drawing& drawing);
/// A whole PNG file, two pixels a point.
std::string png_of(const Drawing& drawing);
/// Calls `measure` with a context on which text can be measured before the size of a figure is known.
void with_measuring_context(const std::function<void(cairo_t* context)>& measure);

}  // namespace weft::inspect
