// SPDX-License-Identifier: Apache-2.0
// SVG written by hand: Cairo's would bring its glyphs along, once a figure.
#include "weft/cli/report/curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "weft/cli/report/html.h"

namespace weft::cli {
namespace {

constexpr double kWidth = 440;
constexpr double kHeight = 240;
constexpr double kLeft = 58;
constexpr double kRight = 14;
constexpr double kTop = 34;
constexpr double kBottom = 40;
constexpr std::size_t kMostDots = 40;  // points of a curve that are told apart
constexpr std::size_t kMostPoints = 1000;
constexpr std::array<const char*, 6> kColours = {"#3a86c8", "#d1495b", "#2e9b62", "#9a6fd0", "#c77d1e", "#808890"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Room for a curve that is one value throughout.
  void open() {
    const double room = high > low ? 0.0 : std::max(std::abs(high), 1.0) * 0.05;
    low -= room;
    high += room;
  }
};

struct Axes {
  Range x;
  Range y;
  double place_x(double value) const { return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight); }
  double place_y(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

std::string number_text(const char* form, double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), form, value);
  return text.data();
}

std::string coordinate(double value) { return number_text("%.1f", value); }

// `look` is an attribute: a class, or a style with the colour of a curve.
std::string label(double x, double y, const std::string& anchor, const std::string& text,
                  const std::string& look = {}) {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" + anchor + "\"" + look + ">" +
         html_text(text) + "</text>\n";
}

constexpr const char* kTick = " class=\"tick\"";

std::string line(double x0, double y0, double x1, double y1) {
  return "<line x1=\"" + coordinate(x0) + "\" y1=\"" + coordinate(y0) + "\" x2=\"" + coordinate(x1) + "\" y2=\"" +
         coordinate(y1) + "\" class=\"grid\"/>\n";
}

// Neighbours joined to their mean, until few enough are left. What is not finite stays as it is, alone.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points) {
  const std::size_t run = (points.size() + kMostPoints - 1) / kMostPoints;
  std::vector<std::pair<double, double>> result;
  for (std::size_t begin = 0; begin < points.size(); begin += run) {
    const std::size_t end = std::min(begin + run, points.size());
    double x = 0.0;
    double y = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      x += points[i].first;
      y += points[i].second;
    }
    const auto count = static_cast<double>(end - begin);
    result.emplace_back(x / count, y / count);
  }
  return result;
}

bool is_drawn(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

std::string path_of(const std::vector<std::pair<double, double>>& points, const Axes& axes, const char* colour) {
  std::string path;
  bool pen_down = false;
  for (const auto& point : points) {
    if (is_drawn(point)) {
      path +=
          (pen_down ? "L" : "M") + coordinate(axes.place_x(point.first)) + " " + coordinate(axes.place_y(point.second));
    }
    pen_down = is_drawn(point);
  }
  std::string drawn = "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.5\"/>\n";
  for (const auto& point : points) {
    if (is_drawn(point) && points.size() <= kMostDots) {
      drawn += "<circle cx=\"" + coordinate(axes.place_x(point.first)) + "\" cy=\"" +
               coordinate(axes.place_y(point.second)) + "\" r=\"2.5\" fill=\"" + colour + "\"/>\n";
    }
  }
  return drawn;
}

std::string frame(const CurveLabels& labels, const Axes& axes) {
  std::string svg = label(kLeft, 16, "start", labels.title);
  for (const double tick : round_ticks(axes.y.low, axes.y.high)) {
    svg += line(kLeft, axes.place_y(tick), kWidth - kRight, axes.place_y(tick));
    svg += label(kLeft - 6, axes.place_y(tick) + 4, "end", number_text("%g", tick), kTick);
  }
  for (const double tick : round_ticks(axes.x.low, axes.x.high)) {
    svg += line(axes.place_x(tick), kTop, axes.place_x(tick), kHeight - kBottom);
    svg += label(axes.place_x(tick), kHeight - kBottom + 16, "middle", number_text("%g", tick), kTick);
  }
  return svg + label((kLeft + kWidth - kRight) / 2, kHeight - 6, "middle", labels.x_name, kTick);
}

}  // namespace

std::vector<double> round_ticks(double low, double high) {
  const double rough = (high - low) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    step = step < rough * 0.8 ? power * factor : step;
  }
  std::vector<double> ticks;
  const auto first = static_cast<std::int64_t>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<std::int64_t>(std::floor(high / step + 1e-9));
  ticks.reserve(static_cast<std::size_t>(std::max<std::int64_t>(0, last - first + 1)));
  for (std::int64_t index = first; index <= last; ++index) {
    ticks.push_back(static_cast<double>(index) * step);
  }
  return ticks;
}

std::string svg_curves(const CurveLabels& labels, const std::vector<Curve>& curves) {
  std::vector<std::vector<std::pair<double, double>>> lines;
  Axes axes;
  bool has_a_line = false;
  for (const Curve& curve : curves) {
    lines.push_back(thinned(curve.points));
    has_a_line = has_a_line || std::count_if(lines.back().begin(), lines.back().end(), is_drawn) >= 2;
    for (const auto& point : lines.back()) {
      if (is_drawn(point)) {
        axes.x.include(point.first);
        axes.y.include(point.second);
      }
    }
  }
  if (!has_a_line) {
    return {};
  }
  axes.x.open();
  axes.y.open();
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 440 240\" font-family=\"sans-serif\" "
      "font-size=\"12\" role=\"img\" aria-label=\"" +
      html_text(labels.title) + "\">\n" + frame(labels, axes);
  double name_x = kWidth - kRight;
  for (std::size_t i = curves.size(); i-- > 0;) {
    const char* colour = kColours[i % kColours.size()];
    svg += path_of(lines[i], axes, colour);
    svg += label(name_x, 16, "end", curves[i].name, std::string(" style=\"fill:") + colour + "\"");
    name_x -= 7.0 * static_cast<double>(curves[i].name.size()) + 12;
  }
  return svg + "</svg>\n";
}

}  // namespace weft::cli
