// SPDX-License-Identifier: Apache-2.0
// Measures and draws. Cells lie on half points, which are whole pixels in PNG, and are drawn without smoothing, so that
// no seams show between them; small pictures get the white grid lines of the papers' figures.
#include "weft/pattern/picture/figure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/core/error.h"
#include "weft/pattern/picture/style.h"

namespace weft::pattern {
namespace {

constexpr double kMargin = 22;
constexpr double kAxis = 44;       // left of and above the cells: tick labels and the name of the axis
constexpr double kLine = 15;       // from one line of text to the next
constexpr double kTitleGap = 4;    // between the expression and its figures
constexpr double kLabel = 18;      // a panel's own label
constexpr double kGridFrom = 4.0;  // cells at least this large get grid lines
constexpr Colour kInk{0.13, 0.13, 0.15};
constexpr Colour kGrey{0.42, 0.42, 0.45};

struct Text {
  double size = 10.5;
  bool monospace = false;
  bool bold = false;
  Colour colour = kGrey;
};
constexpr Text kTitle{12.5, true, true, kInk};
constexpr Text kBody{10.5, false, false, kGrey};
constexpr Text kTick{9, false, false, kGrey};
constexpr Text kPanelLabel{10.5, false, true, kInk};

void set_colour(cairo_t* context, const Colour& colour) {
  cairo_set_source_rgb(context, colour.red, colour.green, colour.blue);
}

void set_font(cairo_t* context, const Text& text) {
  cairo_select_font_face(context, text.monospace ? "monospace" : "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         text.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, text.size);
}

double text_width(cairo_t* context, const Text& text, const std::string& words) {
  set_font(context, text);
  cairo_text_extents_t extents{};
  cairo_text_extents(context, words.c_str(), &extents);
  return extents.x_advance;
}

/// `align` is the part of the text's width that lies left of x: 0, 0.5 or 1.
void draw_text(cairo_t* context, const Text& text, const std::string& words, double x, double y, double align = 0) {
  const double shift = align == 0 ? 0 : align * text_width(context, text, words);
  set_font(context, text);
  set_colour(context, text.colour);
  cairo_move_to(context, x - shift, y);
  cairo_show_text(context, words.c_str());
}

/// Breaks at spaces where a line would pass `width`; a single word is left as long as it is.
std::vector<std::string> wrapped(cairo_t* context, const Text& text, const std::string& words, double width) {
  std::vector<std::string> lines{""};
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t space = words.find(' ', begin);
    const std::size_t end = space == std::string::npos ? words.size() : space + 1;
    const std::string word = words.substr(begin, end - begin);
    if (!lines.back().empty() && text_width(context, text, lines.back() + word) > width) {
      lines.emplace_back();
    }
    lines.back() += word;
    begin = end;
  }
  return lines;
}

void fill(cairo_t* context, const Colour& colour, double x, double y, double width, double height) {
  set_colour(context, colour);
  cairo_rectangle(context, x, y, width, height);
  cairo_fill(context);
}

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
  cairo_set_line_width(context, side >= 8 ? 1.0 : 0.5);
  const double width = static_cast<double>(picture.columns) * side;
  const double height = static_cast<double>(picture.rows) * side;
  for (std::int64_t column = 1; column < picture.columns; ++column) {
    cairo_move_to(context, x + static_cast<double>(column) * side, y);
    cairo_rel_line_to(context, 0, height);
  }
  for (std::int64_t row = 1; row < picture.rows; ++row) {
    cairo_move_to(context, x, y + static_cast<double>(row) * side);
    cairo_rel_line_to(context, width, 0);
  }
  cairo_stroke(context);
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
  cairo_set_line_width(context, 0.75);
  for (const std::int64_t key : ticks(picture.keys)) {
    cairo_move_to(context, x + place(picture, picture.keys, key, side), y - 1);
    cairo_rel_line_to(context, 0, -3);
  }
  for (const std::int64_t query : ticks(picture.queries)) {
    cairo_move_to(context, x - 1, y + place(picture, picture.queries, query, side));
    cairo_rel_line_to(context, -3, 0);
  }
  cairo_stroke(context);
  for (const std::int64_t key : ticks(picture.keys)) {
    draw_text(context, kTick, grouped_digits(key), x + place(picture, picture.keys, key, side), y - 7, 0.5);
  }
  for (const std::int64_t query : ticks(picture.queries)) {
    const double middle = y + place(picture, picture.queries, query, side);
    draw_text(context, kTick, grouped_digits(query + picture.query_offset), x - 6, middle + 3.2, 1);
  }
  draw_text(context, kBody, "key", x + width / 2, y - 22, 0.5);
  cairo_save(context);
  cairo_translate(context, x - kAxis + 10, y + height / 2);
  cairo_rotate(context, -std::numbers::pi / 2);
  draw_text(context, kBody, "query", 0, 0, 0.5);
  cairo_restore(context);
}

void draw_panel(cairo_t* context, const Picture& picture, const PicturePanel& panel, double x, double y, double side) {
  const double width = static_cast<double>(picture.columns) * side;
  const double height = static_cast<double>(picture.rows) * side;
  cairo_save(context);
  cairo_set_antialias(context, CAIRO_ANTIALIAS_NONE);
  fill(context, kEmptyCell, x, y, width, height);
  for (std::int64_t row = 0; row < picture.rows; ++row) {
    draw_row(context, panel.cells.data() + row * picture.columns, picture.columns, x,
             y + static_cast<double>(row) * side, side);
  }
  if (side >= kGridFrom) {
    draw_grid(context, picture, x, y, side);
  }
  cairo_restore(context);
  draw_axes(context, picture, x, y, side);
  draw_text(context, kPanelLabel, panel_label(picture, panel), x + width / 2, y + height + kLabel - 4, 0.5);
}

void draw_legend(cairo_t* context, const Picture& picture, const FigureLayout& layout) {
  double x = kMargin;
  double y = layout.legend_top;
  const auto entry = [&](const Colour& colour, const std::string& label) {
    const double needed = 18 + text_width(context, kBody, label) + 16;
    if (x > kMargin && x + needed > layout.width - kMargin + 16) {
      x = kMargin;
      y += kLine + 2;
    }
    fill(context, colour, x, y, 12, 12);
    draw_text(context, kBody, label, x + 18, y + 10);
    x += needed;
  };
  for (const EdgeKind kind : kinds_of(picture)) {
    entry(edge_style(kind).colour, edge_kind_name(kind));
  }
  entry(kEmptyCell, "no edge");
  if (picture.cell > 1) {
    draw_text(context, kTick,
              concat("a cell is ", picture.cell, " x ", picture.cell, " pairs, the paler the fewer of them are edges"),
              kMargin, y + kLine + 12);
  }
}

/// The side of a cell so that the longer side of a panel is about `length`, in half points.
double cell_length(const Picture& picture, double length) {
  const auto cells = static_cast<double>(std::max({picture.rows, picture.columns, std::int64_t{1}}));
  return std::clamp(std::round(2 * length / cells) / 2, 0.5, 20.0);
}

}  // namespace

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
  draw_legend(context, picture, layout);
}

}  // namespace weft::pattern
