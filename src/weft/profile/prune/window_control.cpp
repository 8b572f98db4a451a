// SPDX-License-Identifier: Apache-2.0
// A wider window has more edges, so that its width is found by bisection.
#include "weft/profile/prune/window_control.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/pattern/build.h"

namespace weft::profile {
namespace {

// Of the distances that a window keeps; exact, since what the base does not have has no mass.
std::int64_t mass_within(const MassSums& sums, std::int64_t distance) {
  std::int64_t mass = 0;
  for (std::int64_t head = 0; head < sums.shape().heads; ++head) {
    for (std::int64_t at = -distance; at <= distance; ++at) {
      const std::int64_t entry = at + sums.keys() - 1;
      if (entry >= 0 && entry < sums.distances()) {
        mass += sums.distance[static_cast<std::size_t>(head * sums.distances() + entry)];
      }
    }
  }
  return mass;
}

}  // namespace

pattern::Pattern windowed(const pattern::Pattern& base, std::int64_t distance, bool causal) {
  const std::string window =
      causal ? concat("window(left=", distance, ")") : concat("window(left=", distance, ", right=", distance, ")");
  return pattern::Pattern(pattern::all_of({base.node(), pattern::parse_node(window)}));
}

void keep_window(PruneResult& result, const PruneSettings& settings, const LayoutCost& cost) {
  const Part& part = *result.layer.part;
  const BaseGraph& graph = result.layer.graph;
  const auto layout_of = [&](std::int64_t distance) {
    return pattern::compile(windowed(graph.pattern, distance, part.site.causal), graph.site, graph.layout.tile);
  };
  const auto price = [&](const pattern::BlockLayout& layout) {
    return settings.unit == "edge" ? static_cast<double>(layout.edges()) : cost.of(layout, part.site.head_dim);
  };
  const double most = settings.unit == "edge" ? static_cast<double>(result.kept_edges) : result.kept_cost;
  std::int64_t low = 0;
  std::int64_t high = std::max(part.sums.queries(), part.sums.keys());
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (price(layout_of(middle)) <= most ? low : high) = middle;
  }
  result.window = low;
  result.layout = layout_of(low);
  result.mask = Mask();
  result.kept_edges = result.layout.edges();
  result.kept_cost = cost.of(result.layout, part.site.head_dim);
  result.kept_mass = mass_within(part.sums, low);
  result.kept_units = settings.unit == "edge" ? result.kept_edges : result.kept_units;
}

}  // namespace weft::profile
