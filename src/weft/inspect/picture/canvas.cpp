// SPDX-License-Identifier: Apache-2.0
// Whole documents around what figure.cpp draws.
#include "weft/inspect/picture/canvas.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "weft/core/error.h"
#include "weft/inspect/picture/drawing.h"
#include "weft/inspect/picture/figure.h"

namespace weft::inspect {
namespace {

Drawing drawing_of(const Picture& picture) {
  FigureLayout layout;
  with_measuring_context([&](cairo_t* context) { layout = figure_layout(context, picture); });
  return {layout.width, layout.height, [&picture, layout](cairo_t* context) { draw_figure(context, picture, layout); }};
}

}  // namespace

std::string svg_picture(const Picture& picture) { return svg_of(drawing_of(picture)); }

std::string png_picture(const Picture& picture) { return png_of(drawing_of(picture)); }

namespace {

constexpr double kPictureSide = 192;  // of a picture
constexpr double kSpace = 20;         // between places
constexpr double kSmallLine = 13;
constexpr Text kSheetTitle{10, true, true, kInk};
constexpr Text kSheetFigure{9.5, false, false, kGrey};

struct Sheet {
  explicit Sheet(const std::vector<SheetEntry>& given) : entries(given) {}

  const std::vector<SheetEntry>& entries;
  std::vector<std::vector<std::string>> titles;  // wrapped
  std::size_t across = 1;
  double title_height = 0;
  double place_height = 0;
  double width = 0;
  double height = 0;
};

/// The kinds of all entries and their colours.
std::vector<LegendEntry> legend_of(const std::vector<SheetEntry>& entries) {
  std::vector<pattern::EdgeKind> kinds;
  for (const SheetEntry& entry : entries) {
    const std::vector<pattern::EdgeKind> more = kinds_of(entry.picture);
    kinds.insert(kinds.end(), more.begin(), more.end());
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::vector<LegendEntry> legend(kinds.size());
  std::transform(kinds.begin(), kinds.end(), legend.begin(), [](pattern::EdgeKind kind) {
    return LegendEntry{edge_style(kind).colour, pattern::edge_kind_name(kind)};
  });
  legend.push_back({kEmptyCell, "no edge"});
  return legend;
}

void measure_sheet(cairo_t* context, Sheet& sheet) {
  std::size_t title_lines = 1;
  std::size_t figure_lines = 0;
  for (const SheetEntry& entry : sheet.entries) {
    sheet.titles.push_back(wrapped(context, kSheetTitle, entry.title, kPictureSide));
    title_lines = std::max(title_lines, sheet.titles.back().size());
    figure_lines = std::max(figure_lines, entry.figures.size());
  }
  const std::size_t count = sheet.entries.size();
  sheet.across = count <= 5 ? count : (count % 4 == 0 ? 4 : 5);
  sheet.title_height = static_cast<double>(title_lines) * kSmallLine + 4;
  sheet.place_height = sheet.title_height + kPictureSide + 6 + static_cast<double>(figure_lines) * kSmallLine + kSpace;
  const double down = std::ceil(static_cast<double>(count) / static_cast<double>(sheet.across));
  sheet.width = 2 * kMargin + static_cast<double>(sheet.across) * (kPictureSide + kSpace) - kSpace;
  sheet.height = 2 * kMargin + down * sheet.place_height + 2 * kLine;
}

void draw_entry(cairo_t* context, const Sheet& sheet, std::size_t index) {
  const SheetEntry& entry = sheet.entries[index];
  const double x = kMargin + static_cast<double>(index % sheet.across) * (kPictureSide + kSpace);
  const std::size_t row = index / sheet.across;
  const double top = kMargin + static_cast<double>(row) * sheet.place_height;
  const std::vector<std::string>& title = sheet.titles[index];
  double y = top + sheet.title_height - 6 - static_cast<double>(title.size() - 1) * kSmallLine;
  for (const std::string& line : title) {
    draw_text(context, kSheetTitle, line, x, y);
    y += kSmallLine;
  }
  const auto cells = static_cast<double>(std::max<std::int64_t>({entry.picture.rows, entry.picture.columns, 1}));
  const double side = std::max(std::floor(2 * kPictureSide / cells) / 2, 0.5);  // half points are whole pixels
  if (!entry.picture.panels.empty()) {
    draw_cells(context, entry.picture, entry.picture.panels.front(), {x, top + sheet.title_height, side});
  }
  y = top + sheet.title_height + static_cast<double>(entry.picture.rows) * side + 14;
  for (const std::string& line : entry.figures) {
    draw_text(context, kSheetFigure, line, x, y);
    y += kSmallLine;
  }
}

Drawing sheet_drawing(const std::vector<SheetEntry>& entries) {
  require(!entries.empty(), "a sheet needs at least one pattern");
  const auto sheet = std::make_shared<Sheet>(entries);
  with_measuring_context([&](cairo_t* context) { measure_sheet(context, *sheet); });
  return {sheet->width, sheet->height, [sheet](cairo_t* context) {
            fill(context, {1, 1, 1}, 0, 0, sheet->width, sheet->height);
            for (std::size_t index = 0; index < sheet->entries.size(); ++index) {
              draw_entry(context, *sheet, index);
            }
            draw_legend(context, legend_of(sheet->entries), kMargin, sheet->height - kMargin - kLine,
                        sheet->width - kMargin);
          }};
}

}  // namespace

std::string svg_sheet(const std::vector<SheetEntry>& entries) { return svg_of(sheet_drawing(entries)); }

std::string png_sheet(const std::vector<SheetEntry>& entries) { return png_of(sheet_drawing(entries)); }

}  // namespace weft::inspect
