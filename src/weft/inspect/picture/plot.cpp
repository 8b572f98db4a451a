// SPDX-License-Identifier: Apache-2.0
// Axes, curves with a dot at each point, names at the top, and the table in columns as wide as their longest word.
#include "weft/inspect/picture/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <optional>

#include "weft/core/error.h"
#include "weft/inspect/picture/drawing.h"

namespace weft::inspect {
namespace {

constexpr double kLeastWidth = 400;
constexpr double kHeight = 250;
constexpr double kLeft = kMargin + 30;
constexpr double kTop = kMargin + 42;  // below title and one line of names
constexpr Text kCell{10, false, false, kInk};
constexpr double kGap = 16;      // between columns
constexpr double kBetween = 54;  // from one frame to the next, with the words below the first

/// Powers of ten that an axis begins and ends with.
struct Powers {
  int low = 0;
  int high = 1;
  double share(double value) const { return (std::log10(value) - low) / (high - low); }
};

struct Frame {
  Powers across;
  std::optional<Powers> up;  // nothing: from 0 to 1
  double width = kLeastWidth;
  double top = 0;
  double x(double value) const { return kLeft + across.share(value) * width; }
  double y(double value) const { return top + (1 - (up ? up->share(value) : value)) * kHeight; }
};

Powers powers_around(double smallest, double largest) {
  const int low = static_cast<int>(std::floor(std::log10(smallest) + 1e-9));
  return {low, std::max(static_cast<int>(std::ceil(std::log10(largest) - 1e-9)), low + 1)};
}

/// The first one and those below it.
std::vector<PlotPanel> panels_of(const Plot& plot) {
  std::vector<PlotPanel> panels{{plot.x_name, plot.curves, plot.y_on_powers}};
  panels.insert(panels.end(), plot.below.begin(), plot.below.end());
  return panels;
}

void check_point(const PlotPanel& plot, double x, double y) {
  const bool fits = plot.y_on_powers ? y > 0 && std::isfinite(y) : y >= 0 && y <= 1;
  require(x > 0 && std::isfinite(x) && fits, "a plot needs x above 0 and y ",
          plot.y_on_powers ? "above 0" : "in [0, 1]", ", found ", x, " and ", y);
}

Frame frame_of(const PlotPanel& plot) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const PlotCurve& curve : plot.curves) {
    for (const auto& [x, y] : curve.points) {
      check_point(plot, x, y);
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  require(!xs.empty(), "a plot needs at least one point");
  const auto around = [](const std::vector<double>& values) {
    const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
    return powers_around(*smallest, *largest);
  };
  return {around(xs), plot.y_on_powers ? std::optional<Powers>(around(ys)) : std::nullopt};
}

std::string short_power(int exponent) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::pow(10, exponent));
  return text;
}

/// Where the upright axis has marks, and their words.
std::vector<std::pair<double, std::string>> marks_of(const Frame& frame) {
  std::vector<std::pair<double, std::string>> marks;
  if (frame.up) {
    for (int exponent = frame.up->low; exponent <= frame.up->high; ++exponent) {
      marks.emplace_back(std::pow(10, exponent), short_power(exponent));
    }
    return marks;
  }
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    marks.emplace_back(tenth / 10.0, concat(tenth / 10, '.', tenth % 10));
  }
  return marks;
}

void draw_frame(cairo_t* context, const PlotPanel& plot, const Frame& frame) {
  const double bottom = frame.top + kHeight;
  set_colour(context, kGrey);
  cairo().set_line_width(context, 0.75);
  cairo().rectangle(context, kLeft, frame.top, frame.width, kHeight);
  for (int exponent = frame.across.low; exponent <= frame.across.high; ++exponent) {
    cairo().move_to(context, frame.x(std::pow(10, exponent)), bottom);
    cairo().rel_line_to(context, 0, 4);
  }
  const auto marks = marks_of(frame);
  for (const auto& [value, words] : marks) {
    cairo().move_to(context, kLeft, frame.y(value));
    cairo().rel_line_to(context, -4, 0);
  }
  cairo().stroke(context);
  for (int exponent = frame.across.low; exponent <= frame.across.high; ++exponent) {
    draw_text(context, kTick, short_power(exponent), frame.x(std::pow(10, exponent)), bottom + 15, 0.5);
  }
  for (const auto& [value, words] : marks) {
    draw_text(context, kTick, words, kLeft - 7, frame.y(value) + 3.2, 1);
  }
  draw_text(context, kBody, plot.x_name, kLeft + frame.width / 2, bottom + 30, 0.5);
}

void draw_curve(cairo_t* context, const PlotCurve& curve, const Frame& frame) {
  set_colour(context, curve.colour);
  cairo().set_line_width(context, 1.5);
  cairo().new_path(context);  // text leaves a current point behind
  for (const auto& [x, y] : curve.points) {
    cairo().line_to(context, frame.x(x), frame.y(y));
  }
  cairo().stroke(context);
  for (const auto& [x, y] : curve.points) {
    cairo().arc(context, frame.x(x), frame.y(y), 2.6, 0, 2 * std::numbers::pi);
    cairo().fill(context);
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

std::vector<LegendEntry> names_of(const Plot& plot) {
  std::vector<LegendEntry> names(plot.curves.size());
  std::transform(plot.curves.begin(), plot.curves.end(), names.begin(),
                 [](const PlotCurve& curve) { return LegendEntry{curve.colour, curve.name}; });
  return names;
}

Drawing plot_drawing(const Plot& plot) {
  const std::vector<PlotPanel> panels = panels_of(plot);
  std::vector<Frame> frames;
  double inner = kLeastWidth;
  double top = kTop;
  with_measuring_context([&](cairo_t* context) {
    const double title_end = kMargin + text_width(context, kTitle, plot.title);
    inner = std::max({inner, columns_of(context, plot.table).back() - kGap - kLeft, title_end - kLeft});
    const int lines = legend_lines(context, names_of(plot), kLeft, kLeft + inner);
    top += std::max(lines - 1, 0) * kLegendLine;
  });
  for (const PlotPanel& panel : panels) {
    frames.push_back(frame_of(panel));
    frames.back().width = inner;
    frames.back().top = top + static_cast<double>(frames.size() - 1) * (kHeight + kBetween);
  }
  const double width = kLeft + inner + kMargin;
  const double bottom = frames.back().top + kHeight;
  const double table_top = bottom + 58;
  const double height =
      (plot.table.empty() ? bottom + 36 : table_top + static_cast<double>(plot.table.size()) * kLine) + kMargin;
  return {width, height, [&plot, panels, frames, width, height, table_top](cairo_t* context) {
            fill(context, {1, 1, 1}, 0, 0, width, height);
            draw_text(context, kTitle, plot.title, kMargin, kMargin + 8);
            draw_legend(context, names_of(plot), kLeft, kMargin + 18, width - kMargin);
            for (std::size_t i = 0; i < panels.size(); ++i) {
              draw_frame(context, panels[i], frames[i]);
              for (const PlotCurve& curve : panels[i].curves) {
                draw_curve(context, curve, frames[i]);
              }
            }
            draw_table(context, plot.table, table_top);
          }};
}

}  // namespace

std::string svg_plot(const Plot& plot) { return svg_of(plot_drawing(plot)); }

std::string png_plot(const Plot& plot) { return png_of(plot_drawing(plot)); }

}  // namespace weft::inspect
