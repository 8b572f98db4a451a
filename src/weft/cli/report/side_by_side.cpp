// SPDX-License-Identifier: Apache-2.0
// Columns are dealt out to tables from left to right.
#include "weft/cli/report/side_by_side.h"

#include <algorithm>
#include <string_view>

#include "weft/text/utf8.h"

namespace weft::cli {
namespace {

constexpr std::size_t kBetween = 2;        // blanks before a column
constexpr std::size_t kWidestColumn = 32;  // of a column: longer cells are broken
constexpr std::size_t kReadable = 16;      // columns are not made narrower than this to have two of them side by side
constexpr std::size_t kNarrowestColumn = 8;

std::size_t columns_of(std::string_view text) { return text::code_point_count(text); }

// `text` in lines of at most `width`: broken after a blank, a comma, a slash or a bar where there is one, else
// anywhere.
std::vector<std::string> broken(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (columns_of(text) > width) {
    const std::size_t most = text::byte_offset(text, width);
    const std::size_t place = text.substr(0, most).find_last_of(" ,/|");
    const std::size_t end = place == std::string_view::npos || place == 0 ? most : place + 1;
    lines.emplace_back(text.substr(0, text.find_last_not_of(' ', end - 1) + 1));
    text.remove_prefix(end);
  }
  lines.emplace_back(text);
  return lines;
}

std::size_t widest_cell(const std::string& heading, const std::vector<SideBySideRow>& rows, std::size_t column) {
  std::size_t width = columns_of(heading);
  for (const SideBySideRow& row : rows) {
    width = row.cells.empty() ? width : std::max(width, columns_of(row.cells[column]));
  }
  return width;
}

void pad(std::string& line, std::size_t width) {
  const std::size_t there = columns_of(line);
  line.append(width > there ? width - there : 0, ' ');
}

// Some neighbouring columns, with the names of the rows before them.
class Table {
 public:
  Table(std::size_t name_width, std::size_t first) : name_width_(name_width), first_(first) {}

  void add_column(std::size_t width) { widths_.push_back(width); }
  std::size_t columns() const { return widths_.size(); }
  std::size_t width() const {
    std::size_t width = name_width_;
    for (const std::size_t column : widths_) {
      width += kBetween + column;
    }
    return width;
  }

  std::string line(const std::string& name, const std::vector<std::string>& cells) const {
    std::vector<std::vector<std::string>> parts;
    std::size_t lines = 1;
    for (std::size_t i = 0; i < widths_.size() && !cells.empty(); ++i) {
      parts.push_back(broken(cells[first_ + i], widths_[i]));
      lines = std::max(lines, parts.back().size());
    }
    std::string text;
    for (std::size_t number = 0; number < lines; ++number) {
      std::string one = number == 0 ? name : "";
      std::size_t place = name_width_;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        pad(one, place + kBetween);
        one += number < parts[i].size() ? parts[i][number] : "";
        place += kBetween + widths_[i];
      }
      text += one.substr(0, one.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  std::size_t name_width_;
  std::size_t first_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string side_by_side(const std::vector<std::string>& columns, const std::vector<SideBySideRow>& rows,
                         std::int64_t width) {
  std::size_t name_width = 0;
  for (const SideBySideRow& row : rows) {
    name_width = row.cells.empty() ? name_width : std::max(name_width, columns_of(row.name));
  }
  const std::size_t whole = std::max(static_cast<std::size_t>(width), name_width + kBetween + kNarrowestColumn);
  const std::size_t room = whole - name_width;
  const std::size_t two = room / 2 > kBetween ? room / 2 - kBetween : 0;
  const std::size_t widest = std::min({kWidestColumn, room - kBetween, std::max(kReadable, two)});
  std::string text;
  for (std::size_t column = 0; column < columns.size();) {
    Table table(name_width, column);
    while (column < columns.size()) {
      const std::size_t next = std::min(widest, widest_cell(columns[column], rows, column));
      if (table.columns() > 0 && table.width() + kBetween + next > whole) {
        break;
      }
      table.add_column(next);
      ++column;
    }
    text += text.empty() ? "" : "\n";
    text += table.line("", columns);
    for (const SideBySideRow& row : rows) {
      text += table.line(row.name, row.cells);
    }
  }
  return text;
}

}  // namespace weft::cli
