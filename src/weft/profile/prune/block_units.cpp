// SPDX-License-Identifier: Apache-2.0
// Blocks are ranked by their mass for each unit of predicted time.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "weft/profile/prune/units.h"

namespace weft::profile {
namespace {

// What a kernel does for one cell, the same for all heads of a group.
struct CellWork {
  std::int64_t edges = 0;
  double cost = 0;
};

using CellWorks = std::map<std::pair<std::int64_t, std::int64_t>, CellWork>;  // by row and column

// A block of the layout that lies in several cells shares its cost out by edges.
CellWorks cell_works(const PrunedLayer& layer, std::int64_t head, const LayoutCost& cost) {
  const pattern::BlockLayout& layout = layer.graph.layout;
  const pattern::LayoutView view = layout.view();
  CellWorks works;
  for (std::int64_t row = 0; row < layout.query_blocks(); ++row) {
    const std::int64_t end = std::min(layout.query_length, (row + 1) * 64);
    const pattern::BlockRange blocks = view.row(0, head, row);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t first = std::int64_t{layout.key_block[unit_index(block)]} * 64;
      CellWorks here;
      std::int64_t edges = 0;
      for (std::int64_t query = row * 64; query < end; ++query) {
        for (std::uint64_t rest = keys_of_block(layout, block, query); rest != 0; rest &= rest - 1) {
          const std::int64_t key = first + std::countr_zero(rest);
          const bool is_one = layer.cell % 64 == 0;
          const std::int64_t count = is_one ? std::popcount(rest) : 1;
          here[{query / layer.cell, key / layer.cell}].edges += count;
          edges += count;
          if (is_one) {
            break;
          }
        }
      }
      const double whole = cost.of_block(pattern::is_full(layout.kind[unit_index(block)]), layer.part->site.head_dim);
      for (const auto& [cell, work] : here) {
        CellWork& sum = works[cell];
        sum.edges += work.edges;
        sum.cost += whole * static_cast<double>(work.edges) / static_cast<double>(edges);
      }
    }
  }
  return works;
}

// [rows of cells][columns of cells] of one head.
std::vector<std::int64_t> cell_masses(const PrunedLayer& layer, std::int64_t head, std::int64_t columns) {
  const MassSums& sums = layer.part->sums;
  const std::int64_t tiles = layer.cell / sums.shape().tile;
  std::vector<std::int64_t> masses(unit_index((sums.query_tiles() + tiles - 1) / tiles * columns));
  for (std::int64_t row = 0; row < sums.query_tiles(); ++row) {
    for (std::int64_t column = 0; column < sums.key_tiles(); ++column) {
      masses[unit_index(row / tiles * columns + column / tiles)] +=
          sums.tile[unit_index((head * sums.query_tiles() + row) * sums.key_tiles() + column)];
    }
  }
  return masses;
}

class BlockLister {
 public:
  BlockLister(const PrunedLayer& layer, const PruneSettings& settings, const LayoutCost& cost, Candidates& found)
      : layer_(layer), settings_(settings), cost_(cost), found_(found) {}

  void add_head(std::int64_t head) {
    const auto group = layer_.graph.layout.group[unit_index(head)];
    auto known = works_.find(group);
    if (known == works_.end()) {
      known = works_.emplace(group, cell_works(layer_, head, cost_)).first;
    }
    add_cells(head, known->second);
    fix_cells(head);
  }

 private:
  // Whether a row of the cells' row was seen.
  bool is_seen(std::int64_t head, std::int64_t row) const {
    const std::int64_t end = std::min((row + 1) * layer_.cell, layer_.part->sums.queries());
    for (std::int64_t query = row * layer_.cell; query < end; ++query) {
      if (rows_at(layer_, head, query) > 0) {
        return true;
      }
    }
    return false;
  }

  void add_cells(std::int64_t head, const CellWorks& works) {
    const std::int64_t columns = (layer_.part->sums.keys() + layer_.cell - 1) / layer_.cell;
    const std::vector<std::int64_t> masses = cell_masses(layer_, head, columns);
    double cheapest = std::numeric_limits<double>::infinity();
    for (const auto& [cell, work] : works) {
      cheapest = std::min(cheapest, work.cost);
    }
    units_.clear();
    std::int64_t row = -1;
    bool seen = false;
    for (const auto& [cell, work] : works) {
      if (cell.first != row) {
        row = cell.first;
        seen = is_seen(head, row);
      }
      const std::uint64_t place = Place{layer_.first_head + head, row, cell.second}.packed();
      if (!seen) {
        found_.unseen.push_back(place);
        continue;
      }
      const std::int64_t mass = masses[unit_index(row * columns + cell.second)];
      const double relative = cheapest > 0 ? std::min(work.cost / cheapest, 1e12) : 1;
      units_.emplace(cell, found_.units.size());
      found_.units.push_back({whole_ratio(mass, 10, std::llround(1024 * relative)), mass, place});
    }
  }

  // The cells that hold edges of a query: their candidates, and whether one is kept already.
  std::vector<std::size_t> cells_of(std::int64_t head, std::int64_t query) const {
    const pattern::BlockLayout& layout = layer_.graph.layout;
    const pattern::BlockRange blocks = layout.view().row(0, head, query / 64);
    std::vector<std::size_t> cells;
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      for (std::uint64_t rest = keys_of_block(layout, block, query); rest != 0; rest &= rest - 1) {
        const std::int64_t key = std::int64_t{layout.key_block[unit_index(block)]} * 64 + std::countr_zero(rest);
        const std::size_t unit = units_.at({query / layer_.cell, key / layer_.cell});
        if (cells.empty() || cells.back() != unit) {
          cells.push_back(unit);
        }
        if (layer_.cell % 64 == 0) {
          break;
        }
      }
    }
    return cells;
  }

  void fix_cells(std::int64_t head) {
    const std::int64_t queries = layer_.part->sums.queries();
    for (const bool diagonal : {true, false}) {
      if (diagonal && (!settings_.diagonal || layer_.part->site.cross)) {
        continue;
      }
      for (std::int64_t query = 0; query < queries; ++query) {
        if (!is_seen_row(head, query)) {
          continue;
        }
        diagonal ? fix_diagonal(head, query) : fix_best(head, query);
      }
    }
  }

  bool is_seen_row(std::int64_t head, std::int64_t query) const { return rows_at(layer_, head, query) > 0; }

  void fix_diagonal(std::int64_t head, std::int64_t query) {
    const auto own = units_.find({query / layer_.cell, query / layer_.cell});
    if (own != units_.end() && has_own_edge(head, query)) {
      found_.units[own->second].is_fixed = true;
    }
  }

  bool has_own_edge(std::int64_t head, std::int64_t query) const {
    const pattern::BlockLayout& layout = layer_.graph.layout;
    const pattern::BlockRange blocks = layout.view().row(0, head, query / 64);
    const auto begin = layout.key_block.begin() + blocks.begin;
    const auto end = layout.key_block.begin() + blocks.end;
    const auto at = std::lower_bound(begin, end, static_cast<std::int32_t>(query / 64));
    return at != end && *at == query / 64 &&
           (keys_of_block(layout, at - layout.key_block.begin(), query) >> (query % 64) & 1) != 0;
  }

  void fix_best(std::int64_t head, std::int64_t query) {
    const std::vector<std::size_t> cells = cells_of(head, query);
    const auto is_fixed = [&](std::size_t unit) { return found_.units[unit].is_fixed; };
    if (cells.empty() || std::any_of(cells.begin(), cells.end(), is_fixed)) {
      return;
    }
    const std::size_t best = *std::min_element(cells.begin(), cells.end(), [&](std::size_t left, std::size_t right) {
      return is_better(found_.units[left], found_.units[right]);
    });
    found_.units[best].is_fixed = true;
  }

  const PrunedLayer& layer_;
  const PruneSettings& settings_;
  const LayoutCost& cost_;
  Candidates& found_;
  std::map<std::int32_t, CellWorks> works_;                             // by group
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> units_;  // of the head at hand: index of its candidate
};

}  // namespace

void add_blocks(const PrunedLayer& layer, const PruneSettings& settings, const LayoutCost& cost, Candidates& found) {
  BlockLister lister(layer, settings, cost, found);
  for (std::int64_t head = 0; head < layer.part->site.heads; ++head) {
    lister.add_head(head);
  }
}

}  // namespace weft::profile
