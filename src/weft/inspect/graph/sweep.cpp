// SPDX-License-Identifier: Apache-2.0
// Expressions are written out and measured like any other, so that a reader can rerun each alone.
#include "weft/inspect/graph/sweep.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/inspect/graph/statistics.h"

namespace weft::inspect {
namespace {

constexpr std::int64_t kMeasured = 4096;  // positions, above which paths are of a sample

void check(const SweepRequest& request, std::int64_t narrowest) {
  require(request.length >= 4, "a sweep needs a length of at least 4, found ", request.length);
  require(request.width >= narrowest && request.width < request.length, "a sweep needs a width in [", narrowest, ", ",
          request.length - 1, "], found ", request.width);
  require(request.graphs >= 1, "a sweep needs at least 1 graph a point, found ", request.graphs);
  for (const double beta : request.rewired) {
    require(beta > 0 && beta <= 1, "a rewiring probability must be in (0, 1], found ", beta);
  }
}

GraphRequest request_for(const SweepRequest& request) {
  GraphRequest graph;
  graph.site.query_length = request.length;
  graph.site.key_length = request.length;
  graph.exact_length = kMeasured;
  return graph;
}

struct PathAndClustering {
  double path = 0;
  double clustering = 0;
};

/// The mean over draws; the spectrum is not asked for, because a ring's takes longest of all.
PathAndClustering measure(const SweepRequest& request, double rewired, std::int64_t graphs) {
  PathAndClustering sum;
  for (std::int64_t seed = 0; seed < graphs; ++seed) {
    const pattern::Pattern pattern =
        pattern::Pattern::parse(concat("watts_strogatz(", request.width, ", ", rewired, ", seed=", seed, ")"));
    const WordRows graph = pattern_graph(pattern, request_for(request).site);
    const std::vector<std::int64_t> sources =
        sample_positions(request.length, request.length <= kMeasured ? request.length : 256);
    sum.path += path_lengths(graph, sources).average.value / static_cast<double>(graphs);
    sum.clustering += clustering_coefficient(symmetrised(graph), sources).value / static_cast<double>(graphs);
  }
  return sum;
}

struct Recipe {
  const char* name;
  std::int64_t random;  // keys
  std::int64_t window;  // keys besides the query
  std::int64_t global;  // positions
};

std::string expression_of(const Recipe& recipe, std::int64_t seed) {
  std::vector<std::string> terms;
  if (recipe.global > 0) {
    terms.push_back(concat("global(", recipe.global, ")"));
  }
  // A query sees itself in every mixture.
  terms.push_back(concat("window(", std::max<std::int64_t>(recipe.window, 1), ")"));
  if (recipe.random > 0) {
    terms.push_back(concat("random(", recipe.random, seed == 0 ? "" : concat(", seed=", seed), ")"));
  }
  return joined(terms, " | ");
}

Mixture measure(const SweepRequest& request, const Recipe& recipe) {
  Mixture mixture{recipe.name, expression_of(recipe, 0), {}, 0, 0, 0};
  const std::int64_t graphs = recipe.random > 0 ? request.graphs : 1;
  for (std::int64_t seed = 0; seed < graphs; ++seed) {
    const GraphStatistics found =
        graph_statistics(pattern::Pattern::parse(expression_of(recipe, seed)), request_for(request));
    const auto share = static_cast<double>(graphs);
    mixture.path += found.paths.average.value / share;
    mixture.clustering += found.clustering.value / share;
    if (!found.second_eigenvalue) {
      fail(ErrorKind::kNumeric, "the eigenvalues of ", expression_of(recipe, seed), " did not converge at length ",
           request.length, "; take a shorter one");
    }
    mixture.gap += (1 - found.second_eigenvalue->value) / share;
    if (seed == 0) {
      mixture.statistics = found;
    }
  }
  return mixture;
}

}  // namespace

SmallWorld sweep_small_world(const SweepRequest& request) {
  check(request, 2);
  const PathAndClustering ring = measure(request, 0, 1);
  SmallWorld result{ring.path, ring.clustering, {}};
  for (const double rewired : request.rewired) {
    const PathAndClustering found = measure(request, rewired, request.graphs);
    result.points.push_back({rewired, found.path, found.clustering, std::min(found.path / ring.path, 1.0),
                             ring.clustering == 0 ? 0 : std::min(found.clustering / ring.clustering, 1.0)});
  }
  return result;
}

std::vector<Mixture> mixtures_at_equal_density(const SweepRequest& request) {
  check(request, 12);
  const std::int64_t width = request.width / 12 * 12;  // divides into halves of halves and thirds of halves
  const Recipe recipes[] = {{"R", width, 0, 0},
                            {"W", 0, width, 0},
                            {"R+W", width / 2, width / 2, 0},
                            {"W+G", 0, width / 2, width / 4},
                            {"R+W+G", width / 3, width / 3, width / 6}};
  std::vector<Mixture> mixtures;
  for (const Recipe& recipe : recipes) {
    mixtures.push_back(measure(request, recipe));
  }
  return mixtures;
}

}  // namespace weft::inspect
