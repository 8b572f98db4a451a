// SPDX-License-Identifier: Apache-2.0
// The search for the blocks that a range of queries sees: all at once where the pattern is even, from one edge to the
// next where the pattern knows how far that is, else by halves. The compiler writes down what it finds; the survey
// counts it.
#pragma once

#include <algorithm>
#include <bit>

#include "weft/pattern/syntax.h"

namespace weft::pattern {

/// What is searched: the keys of some queries, in blocks of `tile` keys.
struct RowSearch {
  const Node& root;
  const Context& context;
  Range query;
  std::int64_t tile;

  Range keys_of(const Range& blocks) const {
    return {blocks.begin * tile, std::min(blocks.end * tile, context.key_length)};
  }
};

/// The key that halves a range of more than one block, as a number of blocks: the left part is a power of two.
constexpr std::int64_t half_of(std::int64_t blocks) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(blocks))) / 2;
}

/// Calls `even(blocks, multiplicity)` for ranges of blocks that share one multiplicity above 0, and `mixed(block)` for
/// each other block that may have an edge, in ascending order. Each question to the pattern takes one of `steps`; the
/// search stops where none is left, and returns whether it came to the end.
template <typename Even, typename Mixed>
bool walk_row(const RowSearch& search, const Range& blocks, std::int64_t& steps, const Even& even, const Mixed& mixed) {
  std::int64_t first = blocks.begin;
  while (first < blocks.end) {
    if (--steps < 0) {
      return false;
    }
    const std::int64_t next =
        search.root.first_key(search.context, search.query, search.keys_of({first, blocks.end})) / search.tile;
    const bool jumped = next > first;
    if (jumped && next >= blocks.end) {
      return true;
    }
    first = std::max(first, next);
    const Range asked{first, jumped ? first + 1 : blocks.end};
    const int value = search.root.uniform(search.context, search.query, search.keys_of(asked));
    if (value != kMixed) {
      if (value > 0) {
        even(asked, value);
      }
      first = asked.end;
    } else if (asked.size() == 1) {
      mixed(first++);
    } else {
      const std::int64_t half = half_of(asked.size());
      if (!walk_row(search, {first, first + half}, steps, even, mixed)) {
        return false;
      }
      first += half;
    }
  }
  return true;
}

}  // namespace weft::pattern
