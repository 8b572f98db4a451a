// SPDX-License-Identifier: Apache-2.0
// How far information has to travel: shortest paths and triangles.
#pragma once

#include <cstdint>
#include <span>

#include "weft/pattern/graph/sample.h"
#include "weft/pattern/graph/word_rows.h"

namespace weft::pattern {

/// Over ordered pairs of different positions, along directed edges.
struct PathLengths {
  Estimate average;          ///< over pairs that have a path
  std::int64_t largest = 0;  ///< at least, where sources were sampled
  Estimate unreachable;      ///< share of pairs without a path
};

/// From the given sources to all positions, by breadth-first search on words. Cost: sources times words.
PathLengths path_lengths(const WordRows& rows, std::span<const std::int64_t> sources);

/// Average over the given positions of the local clustering coefficient: the share of pairs of neighbours that are
/// neighbours themselves (Watts and Strogatz 1998), 0 below two neighbours. `rows` is symmetric. Cost: the words of all
/// neighbours.
Estimate clustering_coefficient(const WordRows& rows, std::span<const std::int64_t> positions);

/// Connected parts of a symmetric graph, positions without a neighbour included.
std::int64_t connected_parts(const WordRows& rows);

}  // namespace weft::pattern
