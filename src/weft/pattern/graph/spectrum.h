// SPDX-License-Identifier: Apache-2.0
// How fast a walk on the graph forgets where it began: the second eigenvalue of the normalised adjacency.
#pragma once

#include <optional>

#include "weft/pattern/graph/sample.h"
#include "weft/pattern/graph/word_rows.h"

namespace weft::pattern {

/// The second largest eigenvalue of D^-1/2 A D^-1/2 of a symmetric graph without loops (the largest is 1); 1 where the
/// graph is not connected, a position without neighbours being a part of its own; nothing for fewer than two positions.
/// The spectral gap is 1 minus it: large for random graphs, small for rings (Chung 1997). On large graphs whose
/// eigenvalues crowd, such as long rings, `error` bounds the distance to an eigenvalue, from 1e-3 down to 1e-7;
/// 0 stands for 1e-10 and better. Nothing where not even that was reached.
std::optional<Estimate> second_eigenvalue(const WordRows& rows);

}  // namespace weft::pattern
