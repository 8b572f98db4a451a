// SPDX-License-Identifier: Apache-2.0
// Coverage is drawn in eight steps, so that runs of cells are equal and few colours are needed.
#include "small_svg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/text/number_text.h"
#include "weft/inspect/picture/style.h"

namespace weft::python {
namespace {

using inspect::Picture;
using inspect::PictureCell;
using inspect::PicturePanel;

constexpr double kSteps = 8;
constexpr std::int64_t kSide = 384;  // of a panel
constexpr std::int64_t kMargin = 8;  // around all, and between panels
constexpr std::int64_t kLine = 18;   // of text
constexpr std::int64_t kMostPanels = 4;
constexpr std::size_t kLongestTitle = 90;
constexpr std::int64_t kFewestCells = 16;

std::string hex_colour(const inspect::Colour& colour) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr double kMost = 255;
  std::string text = "#";
  for (const double part : {colour.red, colour.green, colour.blue}) {
    const auto value = static_cast<std::size_t>(std::lround(part * kMost));
    text += kDigits[value / kDigits.size()];
    text += kDigits[value % kDigits.size()];
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char character : text) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string text_at(std::int64_t x, std::int64_t y, std::string_view text) {
  return concat("<text x=\"", x, "\" y=\"", y, "\">", escaped(text), "</text>");
}

/// What a cell looks like: its kind and its coverage in steps; 0 steps is an empty cell.
std::pair<int, int> look_of(const PictureCell& cell) {
  if (cell.kind == pattern::EdgeKind::kNone) {
    return {0, 0};
  }
  return {static_cast<int>(cell.kind), static_cast<int>(std::clamp(std::ceil(cell.coverage * kSteps), 1.0, kSteps))};
}

/// The runs of equal cells of every look, as path data.
std::map<std::pair<int, int>, std::string> paths_of(const Picture& picture, const PicturePanel& panel) {
  std::map<std::pair<int, int>, std::string> paths;
  for (std::int64_t row = 0; row < picture.rows; ++row) {
    const auto* cells = panel.cells.data() + row * picture.columns;
    for (std::int64_t column = 0; column < picture.columns;) {
      const auto look = look_of(cells[column]);
      std::int64_t end = column + 1;
      while (end < picture.columns && look_of(cells[end]) == look) {
        ++end;
      }
      if (look.second > 0) {
        paths[look] += concat('M', column, ' ', row, 'h', end - column, "v1H", column, 'z');
      }
      column = end;
    }
  }
  return paths;
}

std::string panel_svg(const Picture& picture, const PicturePanel& panel, std::int64_t x, std::int64_t y) {
  const std::int64_t cells = std::max<std::int64_t>({picture.rows, picture.columns, 1});
  std::string text =
      concat("<svg x=\"", x, "\" y=\"", y, "\" width=\"", kSide, "\" height=\"", kSide, "\" viewBox=\"0 0 ", cells, ' ',
             cells, "\" shape-rendering=\"crispEdges\"><path fill=\"", hex_colour(inspect::kEmptyCell), "\" d=\"M0 0h",
             picture.columns, 'v', picture.rows, "H0z\"/>");
  for (const auto& [look, data] : paths_of(picture, panel)) {
    const inspect::Colour colour = inspect::edge_style(static_cast<pattern::EdgeKind>(look.first)).colour;
    text += concat("<path fill=\"", hex_colour(inspect::tinted(colour, look.second / kSteps)), "\" d=\"", data, "\"/>");
  }
  return text + "</svg>";
}

std::string legend(const Picture& picture, std::int64_t y) {
  constexpr std::int64_t kSquare = 11;
  constexpr std::int64_t kEntry = 96;
  std::string text;
  std::int64_t x = kMargin;
  for (const pattern::EdgeKind kind : kinds_of(picture)) {
    text += concat("<rect x=\"", x, "\" y=\"", y - kSquare, "\" width=\"", kSquare, "\" height=\"", kSquare,
                   "\" fill=\"", hex_colour(inspect::edge_style(kind).colour), "\"/>",
                   text_at(x + kSquare + 4, y - 1, pattern::edge_kind_name(kind)));
    x += kEntry;
  }
  return text;
}

}  // namespace

std::string small_svg(const Picture& picture) {
  const std::int64_t panels = std::min<std::int64_t>(std::ssize(picture.panels), kMostPanels);
  const std::int64_t width = std::max<std::int64_t>(panels, 1) * (kSide + kMargin) + kMargin;
  const std::int64_t top = kMargin + 2 * kLine;
  const std::int64_t height = top + kSide + 2 * kLine + kMargin;
  std::string title = picture.expression.substr(0, kLongestTitle);
  while (title.size() < picture.expression.size() && !title.empty() && (title.back() & 0x80) != 0) {
    title.pop_back();
  }
  title += title.size() < picture.expression.size() ? "..." : "";
  std::string text = concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
                            "\" viewBox=\"0 0 ", width, ' ', height,
                            "\" font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" "
                            "fill=\"#fff\"/>");
  text += text_at(kMargin, kLine, title);
  const std::string share = percent(picture.figures.density);
  text += text_at(kMargin, 2 * kLine,
                  concat(digits(picture.query_length), " queries by ", digits(picture.key_length), " keys, ",
                         inspect::edges_text(static_cast<double>(picture.figures.edges), picture.figures.edges_error,
                                             picture.figures.sampled > 0),
                         " edges (", share, ")"));
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const auto& drawn = picture.panels[static_cast<std::size_t>(panel)];
    const std::int64_t x = kMargin + panel * (kSide + kMargin);
    text += panel_svg(picture, drawn, x, top + kMargin);
    text += text_at(x, top + kSide + kLine + kMargin, panel_label(picture, drawn));
  }
  text += legend(picture, height - kMargin / 2);
  const std::int64_t left = std::ssize(picture.panels) - panels;
  return text + (left > 0 ? text_at(width / 2, height - kMargin, concat("and ", left, " more")) : "") + "</svg>\n";
}

std::string small_svg(const pattern::Pattern& pattern, inspect::PictureRequest request, std::size_t bytes) {
  std::string text = small_svg(make_picture(pattern, request));
  while (text.size() > bytes && request.maximum_cells > kFewestCells) {
    request.maximum_cells /= 2;
    text = small_svg(make_picture(pattern, request));
  }
  return text;
}

}  // namespace weft::python
