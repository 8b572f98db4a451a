// SPDX-License-Identifier: Apache-2.0
// Puts the measures together, and decides what is measured on a sample.
#include "weft/pattern/graph/statistics.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/pattern/graph/reach.h"
#include "weft/pattern/graph/spectrum.h"
#include "weft/pattern/interval.h"
#include "weft/pattern/syntax.h"

namespace weft::pattern {
namespace {

constexpr Tile kTile{64, 64};
constexpr std::int64_t kSampleWork = std::int64_t{1} << 30;  // words that searches from a sample may visit
constexpr std::int64_t kFewest = 16;

std::vector<std::int64_t> heads_of(const Site& site, const std::optional<std::int64_t>& head) {
  require(!head || (*head >= 0 && *head < site.heads), "head ", head.value_or(0),
          " does not exist: the pattern is measured for ", site.heads, " heads, counted from 0");
  std::vector<std::int64_t> heads(head ? 1 : static_cast<std::size_t>(site.heads));
  std::iota(heads.begin(), heads.end(), head.value_or(0));
  return heads;
}

/// The layout of some heads only, for its figures.
LayoutStatistics statistics_of(BlockLayout layout, const std::vector<std::int64_t>& heads) {
  std::vector<std::int32_t> groups(heads.size());
  std::transform(heads.begin(), heads.end(), groups.begin(),
                 [&](std::int64_t head) { return layout.group[static_cast<std::size_t>(head)]; });
  layout.group = std::move(groups);
  layout.heads = std::ssize(heads);
  return statistics(layout);
}

/// What tells the graphs of two layers apart.
std::string layer_text(const Pattern& pattern, Site site) {
  std::string text;
  for (site.head = 0; site.head < site.heads; ++site.head) {
    text += Printer(Context(site)).node(pattern.root()).take() + "\n";
  }
  return text;
}

std::vector<Estimate> reach_by_layer(const Pattern& pattern, const GraphRequest& request,
                                     const std::vector<std::int64_t>& sources) {
  std::vector<Estimate> result;
  Reach reach(request.site.key_length, sources);
  std::string known;
  WordRows graph;
  Site site = request.site;
  for (site.layer = 0; site.layer < request.layers; ++site.layer) {
    std::string text = layer_text(pattern, site);
    if (text != known) {
      graph = pattern_graph(pattern, site, request.head);
      known = std::move(text);
    }
    result.push_back(reach.pass(graph));
  }
  return result;
}

void count_positions(GraphStatistics& result, const WordRows& graph) {
  const std::vector<std::int64_t> outgoing = degrees(graph);
  const std::vector<std::int64_t> incoming = incoming_degrees(graph);
  for (std::size_t position = 0; position < outgoing.size(); ++position) {
    result.isolated += outgoing[position] == 0 && incoming[position] == 0 ? 1 : 0;
    result.unseen += incoming[position] == 0 ? 1 : 0;
    result.contains_star = result.contains_star ||
                           (outgoing[position] == graph.positions - 1 && incoming[position] == graph.positions - 1);
  }
}

}  // namespace

WordRows pattern_graph(const Pattern& pattern, const Site& site, std::optional<std::int64_t> head) {
  const std::vector<std::int64_t> heads = heads_of(site, head);
  return word_rows(compile(pattern, site, kTile), heads);
}

GraphStatistics graph_statistics(const Pattern& pattern, const GraphRequest& request) {
  const Site& site = request.site;
  require(request.layers >= 0 && request.samples >= 2, "pattern: a graph is measured with at least 0 layers and 2 ",
          "samples, found ", request.layers, " and ", request.samples);
  const std::vector<std::int64_t> heads = heads_of(site, request.head);
  const BlockLayout layout = compile(pattern, site, kTile);
  const WordRows graph = word_rows(layout, heads);
  GraphStatistics result;
  result.positions = graph.positions;
  result.layout = statistics_of(layout, heads);
  result.possible_blocks = std::ssize(heads) * layout.query_blocks() * layout.key_blocks();
  count_positions(result, graph);
  const bool exact = graph.positions <= request.exact_length;
  const std::int64_t affordable = std::max(kFewest, kSampleWork / std::max<std::int64_t>(graph.words(), 1));
  const std::vector<std::int64_t> sources =
      sample_positions(graph.positions, exact ? graph.positions : std::min(request.samples, affordable));
  result.sampled = exact ? 0 : std::ssize(sources);
  result.paths = path_lengths(graph, sources);
  const WordRows both = symmetrised(graph);
  result.clustering = clustering_coefficient(both, sources);
  result.second_eigenvalue = second_eigenvalue(both);
  result.reach = reach_by_layer(pattern, request, sources);
  return result;
}

}  // namespace weft::pattern
