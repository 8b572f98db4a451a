// SPDX-License-Identifier: Apache-2.0
// Edges are ranked by their own sums, heads by the entropy of their rows: the probabilities of every head sum to the
// same.
#include "weft/profile/prune/candidates.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/profile/prune/units.h"

namespace weft::profile {
namespace {

class EdgeLister {
 public:
  EdgeLister(const PrunedLayer& layer, const PruneSettings& settings, Candidates& found)
      : layer_(layer), settings_(settings), found_(found) {}

  void add_head(std::int64_t head) {
    const MassSums& sums = layer_.part->sums;
    std::int64_t row = -1;
    std::size_t first = found_.units.size();
    for_each_edge(layer_.graph.layout, head, [&](std::int64_t query, std::int64_t key) {
      if (query != row) {
        fix_one(first, head, row);
        row = query;
        first = found_.units.size();
      }
      const std::uint64_t place = Place{layer_.first_head + head, query, key}.packed();
      const std::int64_t count = rows_at(layer_, head, query);
      if (count == 0 && !settings_.released) {
        found_.unseen.push_back(place);
        return;
      }
      const std::int64_t mass = sums.edge[unit_index((head * sums.queries() + query) * sums.keys() + key)];
      const bool by_mean = settings_.released || settings_.rank == "mean";
      found_.units.push_back({by_mean ? whole_ratio(mass, 16, std::max<std::int64_t>(1, count)) : mass, mass, place});
    });
    fix_one(first, head, row);
  }

 private:
  // Of the row whose candidates begin at `first`: the diagonal, or the best.
  void fix_one(std::size_t first, std::int64_t head, std::int64_t row) {
    const auto begin = found_.units.begin() + static_cast<std::ptrdiff_t>(first);
    if (begin == found_.units.end() || settings_.released) {
      return;
    }
    auto fixed = found_.units.end();
    if (settings_.diagonal && !layer_.part->site.cross) {
      const std::uint64_t own = Place{layer_.first_head + head, row, row}.packed();
      fixed = std::find_if(begin, found_.units.end(), [&](const Candidate& edge) { return edge.place == own; });
    }
    if (fixed == found_.units.end()) {
      fixed = std::min_element(begin, found_.units.end(), is_better);
    }
    fixed->is_fixed = true;
  }

  const PrunedLayer& layer_;
  const PruneSettings& settings_;
  Candidates& found_;
};

// The head whose rows are sharpest is ranked first, and each layer keeps one.
void add_heads(const PrunedLayer& layer, Candidates& found) {
  const MassSums& sums = layer.part->sums;
  const std::size_t first = found.units.size();
  for (std::int64_t head = 0; head < layer.part->site.heads; ++head) {
    const std::int64_t rows = std::max<std::int64_t>(1, sums.rows_of(head));
    const auto begin = sums.key.begin() + head * sums.keys();
    std::int64_t mass = 0;
    std::for_each(begin, begin + sums.keys(), [&](std::int64_t of_key) { mass += of_key; });
    found.units.push_back(
        {-whole_ratio(sums.entropy[unit_index(head)], 8, rows), mass, Place{layer.first_head + head, 0, 0}.packed()});
  }
  std::min_element(found.units.begin() + static_cast<std::ptrdiff_t>(first), found.units.end(), is_better)->is_fixed =
      true;
}

}  // namespace

std::int64_t cell_of(const Part& part, const AttentionProfile& profile, const PruneSettings& settings) {
  const std::int64_t longest = std::max(part.sums.queries(), part.sums.keys());
  if (settings.unit == "head") {
    return (longest + 63) / 64 * 64;
  }
  if (settings.unit == "block") {
    require(settings.block % profile.tile == 0, "prune: blocks of ", settings.block,
            " positions do not consist of tiles of ", profile.tile, ", which the profile has; give ", option("block"),
            " a multiple");
    return settings.block;
  }
  if (!part.sums.has_edges()) {
    throw Error(ErrorKind::kArgument,
                concat("prune: ", part.site.name, " has texts of ", longest,
                       " tokens, and the profile has sums of edges for texts of up to ", profile.edge_limit),
                concat(option("unit"), " block prunes by tiles, which it has"));
  }
  return 1;
}

Candidates candidates_of(const std::vector<PrunedLayer>& layers, const PruneSettings& settings,
                         const LayoutCost& cost) {
  Candidates found;
  for (const PrunedLayer& layer : layers) {
    const std::int64_t longest = std::max(layer.part->sums.queries(), layer.part->sums.keys());
    require((longest + layer.cell - 1) / layer.cell <= Place::kMost, "prune: ", layer.part->site.name, " has ", longest,
            " positions, too many for units of ", layer.cell, "; take larger blocks");
    if (settings.unit == "head") {
      add_heads(layer, found);
      continue;
    }
    EdgeLister edges(layer, settings, found);
    if (settings.unit == "block") {
      add_blocks(layer, settings, cost, found);
      continue;
    }
    for (std::int64_t head = 0; head < layer.part->site.heads; ++head) {
      edges.add_head(head);
    }
  }
  return found;
}

}  // namespace weft::profile
