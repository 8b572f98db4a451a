// SPDX-License-Identifier: Apache-2.0
// The words around a picture, the same for the terminal, SVG and PNG.
#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/text/number_text.h"
#include "weft/inspect/picture/picture.h"

namespace weft::inspect {

std::string panel_label(const Picture& picture, const PicturePanel& panel) {
  if (picture.heads == 1) {
    return {};
  }
  std::string label = panel.heads.size() == 1 ? "head " : "heads ";
  for (std::size_t begin = 0; begin < panel.heads.size();) {
    std::size_t end = begin + 1;
    while (end < panel.heads.size() && panel.heads[end] == panel.heads[end - 1] + 1) {
      ++end;
    }
    label += (begin == 0 ? "" : ", ") + std::to_string(panel.heads[begin]);
    label += end - begin == 1 ? "" : "-" + std::to_string(panel.heads[end - 1]);
    begin = end;
  }
  return label;
}

std::string estimated_digits(double value, bool is_estimate) {
  if (!is_estimate || value < 10000) {
    return digits(std::llround(value));
  }
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3);
  return "about " + digits(std::llround(std::round(value / unit) * unit));
}

std::string edges_text(double edges, double error, bool is_estimate) {
  const std::string interval = error == 0 || edges == 0 ? "" : concat(" +- ", percent(error / edges));
  return estimated_digits(edges, is_estimate) + interval;
}

std::vector<std::string> figure_lines(const Picture& picture) {
  const PictureFigures& figures = picture.figures;
  const bool estimated = figures.sampled > 0;
  const auto count = [&](std::int64_t number) { return estimated_digits(static_cast<double>(number), estimated); };
  const std::string heads = picture.heads == 1 ? "" : ", " + std::to_string(picture.heads) + " heads";
  std::vector<std::string> lines = {
      concat(digits(picture.query_length), " queries x ", digits(picture.key_length), " keys", heads),
      concat(edges_text(static_cast<double>(figures.edges), figures.edges_error, estimated), " edges, density ",
             percent(figures.density)),
      concat("blocks of 64: ", count(figures.full_blocks), " full + ", count(figures.partial_blocks), " partial of ",
             digits(figures.possible_blocks)),
      concat(percent(figures.edges_per_slot), " of computed scores are edges")};
  if (estimated) {
    lines.push_back(
        concat("estimated from a sample of ", digits(figures.sampled), " rows of 64 queries; +- is a 95% interval"));
  }
  return lines;
}

std::vector<pattern::EdgeKind> kinds_of(const Picture& picture) {
  std::vector<pattern::EdgeKind> kinds;
  for (const PicturePanel& panel : picture.panels) {
    for (const PictureCell& cell : panel.cells) {
      if (cell.coverage > 0 && std::find(kinds.begin(), kinds.end(), cell.kind) == kinds.end()) {
        kinds.push_back(cell.kind);
      }
    }
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

}  // namespace weft::inspect
