// SPDX-License-Identifier: Apache-2.0
// How each kind of edge looks: its colour and its letter. Colours stay apart for colour-blind readers
// (after Okabe and Ito 2008, "Color Universal Design").
#pragma once

#include "weft/pattern/edge_kind.h"

namespace weft::inspect {

/// Components from 0 to 1.
struct Colour {
  double red = 0;
  double green = 0;
  double blue = 0;
};

/// A cell without edges.
inline constexpr Colour kEmptyCell{0.945, 0.945, 0.945};

struct EdgeStyle {
  Colour colour;
  char letter = '?';  ///< upper case
};

const EdgeStyle& edge_style(pattern::EdgeKind kind);

/// `colour` on an empty cell at the given strength, 0 to 1. Weak shares are lifted, so that one edge in a large cell is
/// seen.
Colour tinted(const Colour& colour, double coverage);

}  // namespace weft::inspect
