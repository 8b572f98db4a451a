// SPDX-License-Identifier: Apache-2.0
// The cells of a picture. With a layout its edges are counted, exactly: a cell's side divides 64 or is a multiple of
// it, so that the 64 bits of a mask row fall into whole cells. Without one each cell asks the pattern about its own
// rectangle, so that a picture of a sequence of any length costs what it draws.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/inspect/picture/picture.h"
#include "weft/pattern/layout.h"
#include "weft/pattern/site.h"

namespace weft::inspect {

/// The side of the tiles that a picture is compiled with.
inline constexpr std::int64_t kPictureTile = 64;

struct PictureEdge {
  std::int64_t query = 0;
  std::int64_t key = 0;
};

/// Three edges of a cell stand for all when its kind is asked for: the first, one of the middle row, the last.
struct CellCount {
  std::int64_t edges = 0;
  PictureEdge first;
  PictureEdge middle;
  PictureEdge last;
};

/// The cells [rows][columns] of the ranges that `picture` shows, for one group of a layout with tiles of 64 x 64.
std::vector<CellCount> count_cells(const pattern::BlockLayout& layout, const Picture& picture, std::int64_t group);

/// The cells [rows][columns] of the ranges that `picture` shows, for the head of `site`. Rectangles that are even, and
/// cells of at most 64 x 64 pairs, are exact; the coverage of others is an estimate. `questions` is about how many
/// times the pattern may be asked.
std::vector<PictureCell> sample_cells(const pattern::Pattern& pattern, const pattern::Site& site,
                                      const Picture& picture, double questions);

}  // namespace weft::inspect
