// SPDX-License-Identifier: Apache-2.0
// How far information has to travel: shortest paths and triangles, and what a stack of layers carries. Through each
// layer a position receives what its neighbours hold, and keeps what it holds itself (the residual connection).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/inspect/graph/sample.h"
#include "weft/inspect/graph/word_rows.h"

namespace weft::inspect {

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

class Reach {
 public:
  /// Follows the content of the given positions; 64 are carried at a time.
  Reach(std::int64_t positions, std::vector<std::int64_t> sources);

  /// Passes one more layer, and returns how many positions now hold the content of a source, itself included, on
  /// average: over all sources this is also how many positions one position has heard of.
  Estimate pass(const WordRows& layer);

 private:
  std::int64_t positions_;
  std::vector<std::int64_t> sources_;
  std::vector<std::vector<std::uint64_t>> holds_;  // [batches of 64 sources][positions]: bit s is source s
};

}  // namespace weft::inspect
