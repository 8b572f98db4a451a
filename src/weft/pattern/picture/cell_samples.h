// SPDX-License-Identifier: Apache-2.0
// The cells of a picture without a layout: each asks the pattern about its own rectangle, so that a picture of a
// sequence of any length costs what it draws.
#pragma once

#include <vector>

#include "weft/pattern/picture/picture.h"
#include "weft/pattern/site.h"

namespace weft::pattern {

/// The cells [rows][columns] of the ranges that `picture` shows, for the head of `site`. Rectangles that are even, and
/// cells of at most 64 x 64 pairs, are exact; the coverage of others is an estimate. `questions` is about how many
/// times the pattern may be asked.
std::vector<PictureCell> sample_cells(const Pattern& pattern, const Site& site, const Picture& picture,
                                      double questions);

}  // namespace weft::pattern
