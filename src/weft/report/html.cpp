// SPDX-License-Identifier: Apache-2.0
// Elements, the page's style, and curves.
#include "weft/report/html.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "weft/core/utf8_sequence.h"

namespace weft::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string html_cell(const std::string& tag, const std::string& content) {
  return "<" + tag + ">" + content + "</" + tag + ">";
}

// An ASCII byte as text of a page.
std::string_view escaped(const char& byte) {
  switch (byte) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      break;
  }
  const bool control = (byte >= 0 && byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
  return control ? kReplacement : std::string_view(&byte, 1);
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    result += length == 1 ? escaped(text.front()) : length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string html_quote(std::string_view text) { return html_cell("bdi", html_text(text)); }

std::string html_section(const std::string& title, const std::string& content) {
  return content.empty() ? "" : "<section><h2>" + html_text(title) + "</h2>\n" + content + "</section>\n";
}

std::string html_rows(const NamedValues& rows) {
  std::string table = "<div class=\"wide\"><table class=\"rows\">\n";
  for (const auto& [name, value] : rows) {
    table += "<tr><th scope=\"row\">" + html_text(name) + "</th>" + html_cell("td", html_quote(value)) + "</tr>\n";
  }
  return rows.empty() ? "" : table + "</table></div>\n";
}

std::string html_table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows) {
  std::string table = "<div class=\"wide\"><table>\n<tr>";
  for (const std::string& heading : headings) {
    table += "<th scope=\"col\">" + html_text(heading) + "</th>";
  }
  table += "</tr>\n";
  for (const std::vector<std::string>& row : rows) {
    table += "<tr>";
    for (const std::string& cell : row) {
      table += html_cell("td", cell);
    }
    table += "</tr>\n";
  }
  return table + "</table></div>\n";
}

std::string_view page_style() {
  return ":root{color-scheme:light "
         "dark;--ink:#222;--soft:#666;--line:#ddd;--ground:#fff;--panel:#f5f6f8;--good:46,139,87;"
         "--bad:209,73,91}"
         "@media(prefers-color-scheme:dark){:root{--ink:#e4e6ea;--soft:#9aa0aa;--line:#3a3f47;--ground:#16181c;"
         "--panel:#22262c}}"
         "body{font:15px/1.5 system-ui,sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:var(--ink);"
         "background:var(--ground)}"
         "h1{font-size:1.5em;overflow-wrap:anywhere}h2{font-size:1.15em;margin-top:2em;"
         "border-bottom:1px solid var(--line)}h3{font-size:1em;margin-bottom:.3em}"
         ".wide{overflow-x:auto}table{border-collapse:collapse}"
         "th,td{padding:.15em 1.2em .15em 0;vertical-align:top;text-align:left}"
         "th{color:var(--soft);font-weight:normal}.rows th{white-space:nowrap}.rows td{overflow-wrap:anywhere}"
         ".examples td{padding-bottom:.5em;overflow-wrap:anywhere;min-width:7em}.examples "
         "td:first-child{min-width:13em}"
         ".confusion td,.confusion th{padding:.3em .7em;text-align:right;border:1px solid var(--line)}"
         ".confusion th{max-width:12em;overflow-wrap:break-word}"
         ".charts{display:grid;gap:1em;grid-template-columns:repeat(auto-fit,minmax(min(100%,26em),1fr))}"
         "svg{width:100%;height:auto}svg .grid{stroke:var(--line)}svg text{fill:var(--ink)}svg .tick{fill:var(--soft)}"
         "img{max-width:100%;height:auto;background:#fff;border-radius:4px}"
         "pre{background:var(--panel);padding:.8em;white-space:pre-wrap;overflow-wrap:anywhere}"
         "summary{cursor:pointer;color:var(--soft)}p.note{color:var(--soft);margin:.3em 0}";
}

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

}  // namespace weft::report
