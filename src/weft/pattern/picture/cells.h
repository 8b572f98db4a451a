// SPDX-License-Identifier: Apache-2.0
// Counting a layout's edges into the cells of a picture, exactly: a cell's side divides 64 or is a multiple of it, so
// that the 64 bits of a mask row fall into whole cells.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pattern/layout.h"
#include "weft/pattern/picture/picture.h"

namespace weft::pattern {

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
std::vector<CellCount> count_cells(const BlockLayout& layout, const Picture& picture, std::int64_t group);

}  // namespace weft::pattern
