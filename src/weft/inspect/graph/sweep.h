// SPDX-License-Identifier: Apache-2.0
// Two experiments that carry the argument for sparse attention: the small-world curve of Watts and Strogatz (1998), and
// BigBird's building blocks at equal density (Zaheer et al. 2020, section 2 and table 1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/inspect/graph/statistics.h"

namespace weft::inspect {

struct SweepRequest {
  std::int64_t length = 1024;
  std::int64_t width = 12;  ///< keys of a query besides itself: of the ring, and of every mixture
  std::int64_t graphs = 5;  ///< draws that a figure is the mean of
  std::vector<double> rewired = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1};
};

/// One point of the curve. Paths and clustering as shares of those of the ring, as Watts and Strogatz draw them.
struct SweepPoint {
  double rewired = 0;
  double path = 0;
  double clustering = 0;
  double path_share = 0;
  double clustering_share = 0;
};

struct SmallWorld {
  double ring_path = 0;
  double ring_clustering = 0;
  std::vector<SweepPoint> points;
};

/// `watts_strogatz(width, beta)` for every beta. Errors: kArgument for a length below 4, a width below 2 or not below
/// the length, no graph, or a beta outside of (0, 1].
SmallWorld sweep_small_world(const SweepRequest& request);

/// A mixture of random (R), window (W) and global (G) edges.
struct Mixture {
  std::string name;            ///< "R+W"
  std::string expression;      ///< of the first draw
  GraphStatistics statistics;  ///< of the first draw, with the means over all draws in the three below
  double path = 0;
  double clustering = 0;
  double gap = 0;
};

/// R, W, R+W, W+G and R+W+G with about `width` keys a query each: a global position counts twice, once as the key of
/// every query and once as a query of every key. Errors as above; a width below 12 has no third for each part.
std::vector<Mixture> mixtures_at_equal_density(const SweepRequest& request);

}  // namespace weft::inspect
