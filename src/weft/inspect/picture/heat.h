// SPDX-License-Identifier: Apache-2.0
// Shades of numbers, a line of panels for each layer of a model: how attention is shown in papers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::inspect {

/// Numbers of at least 0 as shades [rows][columns], queries down and keys across; a negative one is no edge.
struct HeatPanel {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;
};

struct HeatLine {
  std::string name;
  std::vector<HeatPanel> panels;
};

/// Shades follow the logarithm, from the largest number of a panel down to a 4,096th of it.
struct HeatFigure {
  std::string title;
  std::vector<std::string> notes;  ///< lines below the title
  std::vector<HeatLine> lines;
};

/// The figure as a whole SVG document or PNG file. Errors: kArgument for a figure without a panel, a panel whose
/// numbers do not fit its shape, and one that is too large to draw.
std::string svg_heat(const HeatFigure& figure);
std::string png_heat(const HeatFigure& figure);

}  // namespace weft::inspect
