// SPDX-License-Identifier: Apache-2.0
// Measures and draws. Cells lie on half points, which are whole pixels in PNG, and are drawn without smoothing, so that
// no seams show between them; small pictures get the white grid lines of the papers' figures.
#include "weft/inspect/picture/figure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/core/error.h"
#include "weft/core/text/number_text.h"
#include "weft/inspect/picture/drawing.h"
#include "weft/inspect/picture/style.h"

namespace weft::inspect {
namespace {

constexpr double kAxis = 44;       // left of and above the cells: tick labels and the name of the axis
constexpr double kTitleGap = 4;    // between the expression and its figures
constexpr double kLabel = 18;      // a panel's own label
constexpr double kGridFrom = 4.0;  // cells at least this large get grid lines

Colour colour_of(const PictureCell& cell) { return tinted(edge_style(cell.kind).colour, cell.coverage); }

bool same(const PictureCell& left, const PictureCell& right) {
  return left.coverage == right.coverage && (left.coverage == 0 || left.kind == right.kind);
}

/// One row of cells; neighbours that look the same are one rectangle.
void draw_row(cairo_t* context, const PictureCell* cells, std::int64_t count, double x, double y, double side) {
  for (std::int64_t begin = 0; begin < count;) {
    std::int64_t end = begin + 1;
    while (end < count && same(cells[begin], cells[end])) {
      ++end;
    }
    if (cells[begin].coverage > 0) {
      const double offset = static_cast<double>(begin) * side;
      fill(context, colour_of(cells[begin]), x + offset, y, static_cast<double>(end - begin) * side, side);
    }
    begin = end;
  }
}

void draw_grid(cairo_t* context, const Picture& picture, double x, double y, double side) {
  set_colour(context, {1, 1, 1});
  cairo().set_line_width(context, side >= 8 ? 1.0 : 0.5);
  const double width = static_cast<double>(picture.columns) * side;
  const double height = static_cast<double>(picture.rows) * side;
  for (std::int64_t column = 1; column < picture.columns; ++column) {
    cairo().move_to(context, x + static_cast<double>(column) * side, y);
    cairo().rel_line_to(context, 0, height);
  }
  for (std::int64_t row = 1; row < picture.rows; ++row) {
    cairo().move_to(context, x, y + static_cast<double>(row) * side);
    cairo().rel_line_to(context, width, 0);
  }
  cairo().stroke(context);
}

/// 1, 2 or 5 times a power of ten, or a power of two for lengths that are one: at most about five ticks.
std::int64_t tick_step(std::int64_t length) {
  if ((length & (length - 1)) == 0 && length >= 16) {
    return length / 4;
  }
  std::int64_t step = 1;
  for (int turn = 0; length / step > 5; ++turn) {
    step = turn % 3 == 1 ? step / 2 * 5 : step * 2;
  }
  return step;
}

/// Positions in `range` that get a label.
std::vector<std::int64_t> ticks(const TokenRange& range) {
  const std::int64_t step = tick_step(std::max<std::int64_t>(range.size(), 1));
  std::vector<std::int64_t> positions;
  for (std::int64_t tick = (range.begin + step - 1) / step * step; tick < range.end; tick += step) {
    positions.push_back(tick);
  }
  return positions;
}

/// Where a token is along an axis: the middle of its cell when cells are tokens, else its exact place.
double place(const Picture& picture, const TokenRange& range, std::int64_t token, double side) {
  const double tokens = static_cast<double>(token - range.begin) + (picture.cell == 1 ? 0.5 : 0.0);
  return tokens / static_cast<double>(picture.cell) * side;
}

void draw_axes(cairo_t* context, const Picture& picture, double x, double y, double side) {
  const double width = static_cast<double>(picture.columns) * side;
  const double height = static_cast<double>(picture.rows) * side;
  set_colour(context, kGrey);
  cairo().set_line_width(context, 0.75);
  for (const std::int64_t key : ticks(picture.keys)) {
    cairo().move_to(context, x + place(picture, picture.keys, key, side), y - 1);
    cairo().rel_line_to(context, 0, -3);
  }
  for (const std::int64_t query : ticks(picture.queries)) {
    cairo().move_to(context, x - 1, y + place(picture, picture.queries, query, side));
    cairo().rel_line_to(context, -3, 0);
  }
  cairo().stroke(context);
  for (const std::int64_t key : ticks(picture.keys)) {
    draw_text(context, kTick, digits(key), x + place(picture, picture.keys, key, side), y - 7, 0.5);
  }
  for (const std::int64_t query : ticks(picture.queries)) {
    const double middle = y + place(picture, picture.queries, query, side);
    draw_text(context, kTick, digits(query + picture.query_offset), x - 6, middle + 3.2, 1);
  }
  draw_text(context, kBody, "key", x + width / 2, y - 22, 0.5);
  cairo().save(context);
  cairo().translate(context, x - kAxis + 10, y + height / 2);
  cairo().rotate(context, -std::numbers::pi / 2);
  draw_text(context, kBody, "query", 0, 0, 0.5);
  cairo().restore(context);
}

void draw_panel(cairo_t* context, const Picture& picture, const PicturePanel& panel, double x, double y, double side) {
  draw_cells(context, picture, panel, {x, y, side});
  draw_axes(context, picture, x, y, side);
  draw_text(context, kPanelLabel, panel_label(picture, panel), x + static_cast<double>(picture.columns) * side / 2,
            y + static_cast<double>(picture.rows) * side + kLabel - 4, 0.5);
}

void draw_legend_of(cairo_t* context, const Picture& picture, const FigureLayout& layout) {
  std::vector<LegendEntry> entries;
  for (const pattern::EdgeKind kind : kinds_of(picture)) {
    entries.push_back({edge_style(kind).colour, pattern::edge_kind_name(kind)});
  }
  entries.push_back({kEmptyCell, "no edge"});
  draw_legend(context, entries, kMargin, layout.legend_top, layout.width - kMargin);
  if (picture.cell > 1) {
    draw_text(context, kTick,
              concat("a cell is ", picture.cell, " x ", picture.cell, " pairs, the paler the fewer of them are edges"),
              kMargin, layout.legend_top + kLine + 12);
  }
}

/// The side of a cell so that the longer side of a panel is about `length`, in half points.
double cell_length(const Picture& picture, double length) {
  const auto cells = static_cast<double>(std::max({picture.rows, picture.columns, std::int64_t{1}}));
  return std::clamp(std::round(2 * length / cells) / 2, 0.5, 20.0);
}

}  // namespace

void draw_cells(cairo_t* context, const Picture& picture, const PicturePanel& panel, const CellPlace& at) {
  cairo().save(context);
  cairo().set_antialias(context, CAIRO_ANTIALIAS_NONE);
  fill(context, kEmptyCell, at.x, at.y, static_cast<double>(picture.columns) * at.side,
       static_cast<double>(picture.rows) * at.side);
  for (std::int64_t row = 0; row < picture.rows; ++row) {
    draw_row(context, panel.cells.data() + row * picture.columns, picture.columns, at.x,
             at.y + static_cast<double>(row) * at.side, at.side);
  }
  if (at.side >= kGridFrom) {
    draw_grid(context, picture, at.x, at.y, at.side);
  }
  cairo().restore(context);
}

FigureLayout figure_layout(cairo_t* context, const Picture& picture) {
  FigureLayout layout;
  const auto panels = static_cast<std::int64_t>(picture.panels.size());
  layout.panels_across = std::clamp<std::int64_t>(panels, 1, 4);
  layout.cell = cell_length(picture, panels <= 1 ? 400 : 240);
  layout.panel_width = kAxis + static_cast<double>(picture.columns) * layout.cell + 14;
  layout.panel_height = kAxis + static_cast<double>(picture.rows) * layout.cell + (picture.heads > 1 ? kLabel : 0) + 8;
  layout.width = std::max(kMargin * 2 - 14 + static_cast<double>(layout.panels_across) * layout.panel_width, 380.0);
  layout.title = wrapped(context, kTitle, picture.expression, layout.width - 2 * kMargin);
  for (const std::string& line : layout.title) {
    layout.width = std::max(layout.width, text_width(context, kTitle, line) + 2 * kMargin);
  }
  layout.figures = figure_lines(picture);
  const double text_lines = static_cast<double>(layout.title.size() + layout.figures.size());
  layout.panels_top = kMargin + text_lines * kLine + kTitleGap;
  const std::int64_t down = (panels + layout.panels_across - 1) / layout.panels_across;
  layout.legend_top = layout.panels_top + static_cast<double>(down) * layout.panel_height + 8;
  layout.height = layout.legend_top + kLine + (picture.cell > 1 ? kLine + 4 : 0) + kMargin;
  return layout;
}

void draw_figure(cairo_t* context, const Picture& picture, const FigureLayout& layout) {
  fill(context, {1, 1, 1}, 0, 0, layout.width, layout.height);
  double y = kMargin + 8;
  for (const std::string& line : layout.title) {
    draw_text(context, kTitle, line, kMargin, y);
    y += kLine;
  }
  y += kTitleGap;
  for (const std::string& line : layout.figures) {
    draw_text(context, kBody, line, kMargin, y);
    y += kLine;
  }
  const double used = static_cast<double>(layout.panels_across) * layout.panel_width - 14;
  const double left = (layout.width - used) / 2;
  for (std::size_t index = 0; index < picture.panels.size(); ++index) {
    const auto across = static_cast<double>(static_cast<std::int64_t>(index) % layout.panels_across);
    const std::int64_t row = static_cast<std::int64_t>(index) / layout.panels_across;
    const auto down = static_cast<double>(row);
    draw_panel(context, picture, picture.panels[index], left + across * layout.panel_width + kAxis,
               layout.panels_top + down * layout.panel_height + kAxis, layout.cell);
  }
  draw_legend_of(context, picture, layout);
}

}  // namespace weft::inspect
