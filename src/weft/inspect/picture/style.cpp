// SPDX-License-Identifier: Apache-2.0
// The table of looks.
#include "weft/inspect/picture/style.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::inspect {

const EdgeStyle& edge_style(pattern::EdgeKind kind) {
  static constexpr std::array<EdgeStyle, pattern::kEdgeKinds> kStyles{{
      {{0.902, 0.624, 0.000}, 'G'},  // global
      {{0.000, 0.447, 0.698}, 'W'},  // window
      {{0.835, 0.369, 0.000}, 'R'},  // random
      {{0.800, 0.475, 0.655}, 'S'},  // segment
      {{0.580, 0.200, 0.330}, 'M'},  // summary
      {{0.000, 0.620, 0.451}, 'T'},  // stride
      {{0.480, 0.480, 0.480}, 'O'},  // other
      {{0.290, 0.365, 0.475}, 'F'},  // full
      {kEmptyCell, '.'},             // none
  }};
  return kStyles[static_cast<std::size_t>(kind)];
}

Colour tinted(const Colour& colour, double coverage) {
  const double strength = coverage <= 0 ? 0 : 0.3 + 0.7 * std::sqrt(std::min(coverage, 1.0));
  const auto mix = [strength](double low, double high) { return low + (high - low) * strength; };
  return {mix(kEmptyCell.red, colour.red), mix(kEmptyCell.green, colour.green), mix(kEmptyCell.blue, colour.blue)};
}

}  // namespace weft::inspect
