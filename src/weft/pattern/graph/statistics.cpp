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
#include "weft/pattern/survey/survey.h"
#include "weft/pattern/syntax.h"

namespace weft::pattern {
namespace {

constexpr Tile kTile{64, 64};
constexpr std::int64_t kSampleWork = std::int64_t{1} << 27;  // words that searches from a sample may visit
constexpr std::int64_t kFewest = 16;
constexpr double kBuiltBlocks = 1 << 23;  // of a layout of which a graph is made
constexpr double kMostMasks = 1 << 19;    // distinct ones of such a layout: 268 MB
constexpr double kListedKeys = 1 << 26;   // draws and look-ups of such a layout
constexpr double kReachWork = 1 << 28;    // words and draws of all layers of a stack
constexpr double kDrawCost = 8;           // words that a draw is worth

std::vector<std::int64_t> heads_of(const Site& site, const std::optional<std::int64_t>& head) {
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

/// Layers that draw graphs of their own are each built: `work` words and draws a layer.
bool is_reach_affordable(const Pattern& pattern, const GraphRequest& request, double work) {
  Site site = request.site;
  std::string known;
  double graphs = 0;
  for (site.layer = 0; site.layer < request.layers; ++site.layer) {
    std::string text = layer_text(pattern, site);
    graphs += text == known ? 0 : 1;
    known = std::move(text);
  }
  return graphs <= 1 || graphs * work <= kReachWork;
}

std::vector<Estimate> reach_by_layer(const Pattern& pattern, const GraphRequest& request,
                                     const std::vector<std::int64_t>& sources) {
  std::vector<Estimate> result;
  Reach reach(request.site.key_length, sources);
  std::string known;
  WordRows graph;
  Site site = request.site;
  for (site.layer = 0; site.layer < request.layers; ++site.layer) {
    // Most stacks have one pattern: its graph is built once, and not per layer.
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

void check_square(const Site& site) {
  require(site.query_length == site.key_length && site.query_offset == 0,
          "pattern: a graph needs as many queries as keys and no offset, found ", site.query_length, " and ",
          site.key_length, ", offset ", site.query_offset);
}

/// Whether the layout of all heads and the graph can be built in seconds and some 400 MB.
bool is_measurable(const LayoutSurvey& survey, const GraphRequest& request) {
  const double heads = request.head ? static_cast<double>(request.site.heads) : 1;
  return survey.words <= static_cast<double>(kMeasuredWords) && survey.blocks_stored * heads <= kBuiltBlocks &&
         survey.masks * heads <= kMostMasks && survey.listed_keys * heads <= kListedKeys;
}

void measure_graph(GraphStatistics& result, const Pattern& pattern, const GraphRequest& request,
                   const LayoutSurvey& survey) {
  const std::vector<std::int64_t> heads = heads_of(request.site, request.head);
  WordRows graph;
  {
    const BlockLayout layout = compile(pattern, request.site, kTile);
    graph = word_rows(layout, heads);
    result.layout = statistics_of(layout, heads);
    result.possible_blocks = std::ssize(heads) * layout.query_blocks() * layout.key_blocks();
  }
  count_positions(result, graph);
  const bool exact = graph.positions <= request.exact_length;
  // A search may visit every word; hubs make the clustering of one position cost as much.
  const std::int64_t affordable = std::max(kFewest, kSampleWork / std::max<std::int64_t>(graph.words(), 1));
  const std::vector<std::int64_t> sources =
      sample_positions(graph.positions, exact ? graph.positions : std::min(request.samples, affordable));
  result.sampled = exact ? 0 : std::ssize(sources);
  result.paths = path_lengths(graph, sources);
  {
    const WordRows both = symmetrised(graph);
    result.clustering = clustering_coefficient(both, sources);
    result.second_eigenvalue = second_eigenvalue(both);
  }
  if (is_reach_affordable(pattern, request, survey.words + kDrawCost * survey.listed_keys)) {
    result.reach = reach_by_layer(pattern, request, sources);
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
  check_square(site);
  const LayoutSurvey survey = survey_layout(pattern, site, request.head);
  GraphStatistics result;
  result.positions = site.query_length;
  result.words = survey.words;
  result.is_measured = is_measurable(survey, request);
  if (result.is_measured) {
    measure_graph(result, pattern, request, survey);
  } else {
    result.layout = survey.layout;
    result.possible_blocks = survey.possible_blocks;
    result.edges_error = survey.edges_error;
    result.sampled_rows = survey.sampled;
  }
  return result;
}

}  // namespace weft::pattern
