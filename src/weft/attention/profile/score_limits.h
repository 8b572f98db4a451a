// SPDX-License-Identifier: Apache-2.0
// How a score says that a pair has no edge.
#pragma once

namespace weft::attention {

/// The score of a pair without an edge: finite, so that 0 times it is 0, and below every score.
constexpr double kNoEdge = -1e30;
/// Every score of an edge is above it.
constexpr double kLeastScore = -1e29;

}  // namespace weft::attention
