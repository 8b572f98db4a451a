// SPDX-License-Identifier: Apache-2.0
// What of a head is drawn, and what is remembered of its rows, so that a part of them can be drawn again by itself.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::attention {

/// What makes probabilities of the scores of a row, by the position of its query: p = exp(score - largest) * share. A
/// part of a row then needs no other part.
struct RowScales {
  std::vector<float> largest;       ///< score of the row
  std::vector<float> share;         ///< 1 / sum of exp(score - largest); 0 where the row has no edge
  std::vector<std::int32_t> edges;  ///< of the row
};

/// Which head, which rows and keys, and how finely. Queries are counted by their positions.
struct PictureRequest {
  std::int64_t head = 0;
  std::int64_t cell = 1;         ///< positions on each side of a cell, a power of two
  std::int64_t query_begin = 0;  ///< a multiple of `cell`
  std::int64_t query_end = 0;    ///< behind the last
  std::int64_t keys = 0;         ///< positions of keys that a call has at most
  std::int64_t top = 0;          ///< keys to list for each row, of those that are drawn
  std::int64_t key_begin = 0;    ///< first key to draw, a multiple of `cell`
  std::int64_t key_end = 0;      ///< behind the last; 0: behind all keys
  /// Of all rows, where they are known; it must outlive the drawing. A part of the keys costs that part alone then, and
  /// whole rows without.
  const RowScales* scales = nullptr;

  std::int64_t drawn_end() const noexcept { return key_end == 0 ? keys : key_end; }
};

}  // namespace weft::attention
