// SPDX-License-Identifier: Apache-2.0
// Curves over a logarithmic axis, and a table below them: the figure of the small-world sweep, and of how time grows
// with the length.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/inspect/picture/style.h"

namespace weft::inspect {

struct PlotCurve {
  std::string name;
  Colour colour;
  std::vector<std::pair<double, double>> points;  ///< x > 0, y in [0, 1] or, on powers of ten, above 0
};

/// Curves in a frame of their own.
struct PlotPanel {
  std::string x_name;
  std::vector<PlotCurve> curves;
  bool y_on_powers = false;  ///< y on powers of ten, as x is; otherwise from 0 to 1
};

struct Plot {
  std::string title;
  std::string x_name;
  std::vector<PlotCurve> curves;
  std::vector<std::vector<std::string>> table;  ///< rows of equally many words, the first a heading; may be empty
  bool y_on_powers = false;                     ///< as of a panel
  std::vector<PlotPanel> below = {};  ///< further frames, whose curves have the names and colours of the first
};

/// The figure as a whole SVG document or PNG file: x from the smallest to the largest power of ten around the points,
/// y from 0 to 1, or on powers of ten likewise. Errors: kArgument for a plot without points, or with one out of range.
std::string svg_plot(const Plot& plot);
std::string png_plot(const Plot& plot);

}  // namespace weft::inspect
