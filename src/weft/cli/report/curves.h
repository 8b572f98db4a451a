// SPDX-License-Identifier: Apache-2.0
// Curves as an SVG element for a page: linear axes with round numbers, a colour and a name a curve. Lines of the grid
// have the class "grid", its numbers "tick": the page says their colours, for light and dark.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::cli {

/// Points in the order of x; those that are not finite break the line.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

/// What stands above the axes and below.
struct CurveLabels {
  std::string title;
  std::string x_name;
};

/// One <svg> element, scalable, with nothing outside of it. At most some 1,000 points of a curve are drawn: the mean of
/// each run of neighbours; where points are few, each has a dot. An empty text where no curve has two points: one
/// figure is no curve.
std::string svg_curves(const CurveLabels& labels, const std::vector<Curve>& curves);

/// Round numbers that divide [low, high] in four to ten parts.
std::vector<double> round_ticks(double low, double high);

}  // namespace weft::cli
