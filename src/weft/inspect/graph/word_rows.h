// SPDX-License-Identifier: Apache-2.0
// A compiled pattern as a graph: for each position, the 64-bit words of its row that are not zero. Words make breadth
// first search, triangles and products over the graph work on 64 edges at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/pattern/layout.h"

namespace weft::inspect {

/// Bit b of a word with index w is an edge to position 64 * w + b.
struct WordRows {
  std::int64_t positions = 0;
  std::vector<std::int64_t> begin;   ///< [positions + 1], into the two arrays below
  std::vector<std::uint32_t> index;  ///< ascending in a row
  std::vector<std::uint64_t> bits;   ///< never 0

  std::int64_t words() const noexcept { return static_cast<std::int64_t>(index.size()); }
};

/// More words than this are an error (200 MB).
inline constexpr std::int64_t kMaximumWords = std::int64_t{1} << 24;

/// The edges of the given heads united, without those from a position to itself. The layout has tiles of 64 x 64, as
/// many queries as keys and no offset. Errors: kArgument for another layout, or one with more than kMaximumWords words.
WordRows word_rows(const pattern::BlockLayout& layout, std::span<const std::int64_t> heads);

/// Every edge both ways.
WordRows symmetrised(const WordRows& rows);

/// Calls `visit(position)` for every neighbour of `position`, ascending.
template <typename Visit>
void for_each_neighbour(const WordRows& rows, std::int64_t position, const Visit& visit) {
  const auto at = static_cast<std::size_t>(position);
  for (auto word = static_cast<std::size_t>(rows.begin[at]); word < static_cast<std::size_t>(rows.begin[at + 1]);
       ++word) {
    for (std::uint64_t rest = rows.bits[word]; rest != 0; rest &= rest - 1) {
      visit(std::int64_t{64} * rows.index[word] + std::countr_zero(rest));
    }
  }
}

/// Neighbours of every position.
std::vector<std::int64_t> degrees(const WordRows& rows);
/// How many positions have an edge to each position.
std::vector<std::int64_t> incoming_degrees(const WordRows& rows);

}  // namespace weft::inspect
