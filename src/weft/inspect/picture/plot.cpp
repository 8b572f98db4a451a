// SPDX-License-Identifier: Apache-2.0
// Axes, curves with a dot at each point, names at the top, and the table in columns as wide as their longest word.
#include "weft/inspect/picture/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "weft/core/error.h"
#include "weft/inspect/picture/drawing.h"

namespace weft::inspect {
namespace {

constexpr double kLeastWidth = 400;
constexpr double kHeight = 250;
constexpr double kLeft = kMargin + 30;
constexpr double kTop = kMargin + 42;  // below title and names
constexpr Text kCell{10, false, false, kInk};
constexpr double kGap = 16;  // between columns

struct Frame {
  int low = 0;  // powers of ten
  int high = 1;
  double width = kLeastWidth;
  double x(double value) const { return kLeft + (std::log10(value) - low) / (high - low) * width; }
  static double y(double value) { return kTop + (1 - value) * kHeight; }
};

Frame frame_of(const Plot& plot) {
  double smallest = 0;
  double largest = 0;
  for (const PlotCurve& curve : plot.curves) {
    for (const auto& [x, y] : curve.points) {
      require(x > 0 && y >= 0 && y <= 1 && std::isfinite(x), "a plot needs x above 0 and y in [0, 1], found ", x,
              " and ", y);
      smallest = smallest == 0 ? x : std::min(smallest, x);
      largest = std::max(largest, x);
    }
  }
  require(largest > 0, "a plot needs at least one point");
  const int low = static_cast<int>(std::floor(std::log10(smallest) + 1e-9));
  return {low, std::max(static_cast<int>(std::ceil(std::log10(largest) - 1e-9)), low + 1)};
}

std::string short_power(int exponent) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::pow(10, exponent));
  return text;
}

void draw_frame(cairo_t* context, const Plot& plot, const Frame& frame) {
  set_colour(context, kGrey);
  cairo_set_line_width(context, 0.75);
  cairo_rectangle(context, kLeft, kTop, frame.width, kHeight);
  for (int exponent = frame.low; exponent <= frame.high; ++exponent) {
    cairo_move_to(context, frame.x(std::pow(10, exponent)), kTop + kHeight);
    cairo_rel_line_to(context, 0, 4);
  }
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    cairo_move_to(context, kLeft, Frame::y(tenth / 10.0));
    cairo_rel_line_to(context, -4, 0);
  }
  cairo_stroke(context);
  for (int exponent = frame.low; exponent <= frame.high; ++exponent) {
    draw_text(context, kTick, short_power(exponent), frame.x(std::pow(10, exponent)), kTop + kHeight + 15, 0.5);
  }
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    draw_text(context, kTick, concat(tenth / 10, '.', tenth % 10), kLeft - 7, Frame::y(tenth / 10.0) + 3.2, 1);
  }
  draw_text(context, kBody, plot.x_name, kLeft + frame.width / 2, kTop + kHeight + 30, 0.5);
}

void draw_curve(cairo_t* context, const PlotCurve& curve, const Frame& frame) {
  set_colour(context, curve.colour);
  cairo_set_line_width(context, 1.5);
  cairo_new_path(context);  // text leaves a current point behind
  for (const auto& [x, y] : curve.points) {
    cairo_line_to(context, frame.x(x), Frame::y(y));
  }
  cairo_stroke(context);
  for (const auto& [x, y] : curve.points) {
    cairo_arc(context, frame.x(x), Frame::y(y), 2.6, 0, 2 * std::numbers::pi);
    cairo_fill(context);
  }
}

/// Where each column begins, and the end of the last.
std::vector<double> columns_of(cairo_t* context, const std::vector<std::vector<std::string>>& table) {
  std::vector<double> edges{kMargin};
  for (std::size_t column = 0; !table.empty() && column < table.front().size(); ++column) {
    double widest = 0;
    for (std::size_t row = 0; row < table.size(); ++row) {
      widest = std::max(widest, text_width(context, row == 0 ? kPanelLabel : kCell, table[row].at(column)));
    }
    edges.push_back(edges.back() + widest + kGap);
  }
  return edges;
}

void draw_table(cairo_t* context, const std::vector<std::vector<std::string>>& table, double top) {
  const std::vector<double> edges = columns_of(context, table);
  double y = top;
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (std::size_t column = 0; column < table[row].size(); ++column) {
      const bool number = column >= 2;  // names to the left, figures to the right
      draw_text(context, row == 0 ? kPanelLabel : kCell, table[row][column],
                number ? edges[column + 1] - kGap : edges[column], y, number ? 1 : 0);
    }
    y += kLine;
  }
}

Drawing plot_drawing(const Plot& plot) {
  Frame frame = frame_of(plot);
  with_measuring_context([&](cairo_t* context) {
    const double title_end = kMargin + text_width(context, kTitle, plot.title);
    frame.width = std::max({frame.width, columns_of(context, plot.table).back() - kGap - kLeft, title_end - kLeft});
  });
  const double width = kLeft + frame.width + kMargin;
  const double table_top = kTop + kHeight + 58;
  const double height =
      (plot.table.empty() ? kTop + kHeight + 36 : table_top + static_cast<double>(plot.table.size()) * kLine) + kMargin;
  return {width, height, [&plot, frame, width, height, table_top](cairo_t* context) {
            fill(context, {1, 1, 1}, 0, 0, width, height);
            draw_text(context, kTitle, plot.title, kMargin, kMargin + 8);
            std::vector<LegendEntry> names(plot.curves.size());
            std::transform(plot.curves.begin(), plot.curves.end(), names.begin(),
                           [](const PlotCurve& curve) { return LegendEntry{curve.colour, curve.name}; });
            draw_legend(context, names, kLeft, kMargin + 18, width - kMargin);
            draw_frame(context, plot, frame);
            for (const PlotCurve& curve : plot.curves) {
              draw_curve(context, curve, frame);
            }
            draw_table(context, plot.table, table_top);
          }};
}

}  // namespace

std::string svg_plot(const Plot& plot) { return svg_of(plot_drawing(plot)); }

std::string png_plot(const Plot& plot) { return png_of(plot_drawing(plot)); }

}  // namespace weft::inspect
