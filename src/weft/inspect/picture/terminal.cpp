// SPDX-License-Identifier: Apache-2.0
// Rows of cells as characters. Colours are the 6 x 6 x 6 cube that every terminal with colours has.
#include "weft/inspect/picture/terminal.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/text/number_text.h"
#include "weft/inspect/picture/style.h"

namespace weft::inspect {
namespace {

constexpr std::int64_t kIndent = 2;
constexpr std::string_view kReset = "\x1b[0m";

/// The nearest entry of the colour cube, whose levels are 0, 95, 135, 175, 215 and 255.
int cube_index(const Colour& colour) {
  const auto level = [](double component) {
    const double value = component * 255;
    return value < 48 ? 0 : value < 115 ? 1 : static_cast<int>(std::lround((value - 55) / 40));
  };
  return 16 + 36 * level(colour.red) + 6 * level(colour.green) + level(colour.blue);
}

/// Near white: the cube has no light grey.
constexpr int kEmptyIndex = 254;

int terminal_colour(const PictureCell& cell) {
  return cell.coverage <= 0 ? kEmptyIndex : cube_index(tinted(edge_style(cell.kind).colour, cell.coverage));
}

std::string swatch(pattern::EdgeKind kind, TerminalStyle style) {
  const EdgeStyle& look = edge_style(kind);
  if (style == TerminalStyle::kColour) {
    return concat("\x1b[48;5;", cube_index(look.colour), "m  ", kReset, " ", pattern::edge_kind_name(kind));
  }
  return concat(look.letter, " ", pattern::edge_kind_name(kind));
}

class Writer {
 public:
  Writer(const Picture& picture, TerminalStyle style) : picture_(picture), style_(style) {}

  void panel(const PicturePanel& panel) {
    const std::int64_t step = style_ == TerminalStyle::kColour ? 2 : 1;
    for (std::int64_t row = 0; row < picture_.rows; row += step) {
      text_.append(kIndent, ' ');
      if (style_ == TerminalStyle::kColour) {
        colour_row(panel, row);
      } else {
        plain_row(panel, row);
        text_.erase(text_.find_last_not_of(' ') + 1);
      }
      text_ += '\n';
    }
  }

  void line(const std::string& text) { text_ += text + '\n'; }
  std::string take() { return std::move(text_); }

 private:
  const PictureCell& at(const PicturePanel& panel, std::int64_t row, std::int64_t column) const {
    return panel.cells[static_cast<std::size_t>(row * picture_.columns + column)];
  }

  void colour_row(const PicturePanel& panel, std::int64_t row) {
    int upper_before = -1;
    int lower_before = -1;
    const bool has_lower = row + 1 < picture_.rows;
    for (std::int64_t column = 0; column < picture_.columns; ++column) {
      const int upper = terminal_colour(at(panel, row, column));
      const int lower = has_lower ? terminal_colour(at(panel, row + 1, column)) : -1;
      if (upper != upper_before) {
        text_ += concat("\x1b[38;5;", upper, "m");
      }
      if (has_lower && lower != lower_before) {
        text_ += concat("\x1b[48;5;", lower, "m");
      }
      text_ += "\u2580";
      upper_before = upper;
      lower_before = lower;
    }
    text_ += kReset;
  }

  void plain_row(const PicturePanel& panel, std::int64_t row) {
    for (std::int64_t column = 0; column < picture_.columns; ++column) {
      const PictureCell& cell = at(panel, row, column);
      if (style_ == TerminalStyle::kUnicode) {
        text_ += cell.coverage <= 0 ? "\u00b7 " : cell.coverage < 1 ? "\u2592\u2592" : "\u2588\u2588";
        continue;
      }
      const char letter = edge_style(cell.kind).letter;
      const int lower = std::tolower(static_cast<unsigned char>(letter));
      text_ += cell.coverage <= 0 ? '.' : cell.coverage < 1 ? static_cast<char>(lower) : letter;
      text_ += ' ';
    }
  }

  const Picture& picture_;
  TerminalStyle style_;
  std::string text_;
};

std::string legend(const Picture& picture, TerminalStyle style) {
  if (style == TerminalStyle::kUnicode) {
    return picture.cell == 1 ? "\u2588\u2588 an edge   \u00b7 none"
                             : "\u2588\u2588 all pairs are edges   \u2592\u2592 some   \u00b7 none";
  }
  const std::string line =
      joined(kinds_of(picture), "   ", [&](pattern::EdgeKind kind) { return swatch(kind, style); });
  const bool letters = style == TerminalStyle::kAscii;
  return line + (letters ? "   . no edge" : "") +
         (letters && picture.cell > 1 ? "   (lower case: some pairs only)" : "");
}

std::string scale_line(const Picture& picture) {
  const std::string first = digits(picture.keys.begin);
  const std::string last = digits(std::max<std::int64_t>(picture.keys.end - 1, 0));
  const std::string cell =
      picture.cell == 1 ? "a cell is one pair" : concat("a cell is ", picture.cell, " x ", picture.cell, " pairs");
  return concat("queries down, keys ", first, " to ", last, " across; ", cell);
}

}  // namespace

std::int64_t cells_in_width(std::int64_t width, TerminalStyle style) {
  const std::int64_t characters = style == TerminalStyle::kColour ? 1 : 2;
  return std::clamp<std::int64_t>((width - kIndent) / characters, 8, 96);
}

std::string terminal_picture(const Picture& picture, TerminalStyle style) {
  Writer writer(picture, style);
  writer.line(picture.expression);
  for (const std::string& line : figure_lines(picture)) {
    writer.line("  " + line);
  }
  for (const PicturePanel& panel : picture.panels) {
    writer.line(panel_label(picture, panel));
    writer.panel(panel);
  }
  writer.line("");
  writer.line("  " + legend(picture, style));
  writer.line("  " + scale_line(picture));
  return writer.take();
}

}  // namespace weft::inspect
