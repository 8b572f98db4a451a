// SPDX-License-Identifier: Apache-2.0
// HTML of a page that holds text from elsewhere (labels, texts and paths of a run can neither add an element nor turn
// round what is next to them), and curves as SVG elements of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/report/named_values.h"

namespace weft::report {

/// `text` for an element or an attribute in quotes: & < > " ' as entities; control characters and bytes that are no
/// UTF-8 become U+FFFD.
std::string html_text(std::string_view text);

/// html_text() in <bdi>, so that text of either direction stays within itself.
std::string html_quote(std::string_view text);

/// <section> with a heading, or nothing around nothing.
std::string html_section(const std::string& title, const std::string& content);

/// Names and values as a table of two columns; nothing without rows.
std::string html_rows(const NamedValues& rows);

/// A table with a line of headings. Cells are HTML, headings are text; it scrolls where the window is too narrow.
std::string html_table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows);

/// The page's style: light and dark, wide and narrow.
std::string_view page_style();

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

}  // namespace weft::report
