// SPDX-License-Identifier: Apache-2.0
// Candidates, a budget, masks; a budget of time is a share found by bisection.
#include "weft/profile/prune/prune.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/profile/prune/window_control.h"

namespace weft::profile {
namespace {

std::size_t number(std::int64_t value) { return static_cast<std::size_t>(value); }

std::vector<PrunedLayer> layers_to_prune(const AttentionProfile& profile, const PruneSettings& settings,
                                         const std::filesystem::path& directory) {
  std::vector<PrunedLayer> layers;
  std::int64_t heads = 0;
  for (const Part* part : attending_parts(profile, settings.attend, "prune")) {
    layers.push_back({part, base_graph(*part, directory), cell_of(*part, profile, settings), heads});
    heads += part->site.heads;
  }
  require(heads < (std::int64_t{1} << 23), "prune: at most 2^23 heads, found ", heads);
  return layers;
}

std::int64_t rows_with_edges(const pattern::BlockLayout& layout) {
  std::int64_t count = 0;
  for (std::int64_t head = 0; head < layout.heads; ++head) {
    std::int64_t last = -1;
    for_each_edge(layout, head, [&](std::int64_t query, std::int64_t) {
      count += query == last ? 0 : 1;
      last = query;
    });
  }
  return count;
}

class Pruner {
 public:
  Pruner(std::vector<PrunedLayer> layers, const PruneSettings& settings, const LayoutCost& cost)
      : layers_(std::move(layers)), settings_(settings), cost_(cost) {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      const BaseGraph& graph = layers_[layer].graph;
      layers_[layer].cost = cost.of(graph.pattern, graph.site, layers_[layer].part->site.head_dim);
      layer_of_.insert(layer_of_.end(), number(layers_[layer].part->site.heads), layer);
    }
    candidates_ = candidates_of(layers_, settings, cost);
  }

  std::vector<PruneResult> run() {
    set_pools(settings_.scope);
    if (settings_.released) {
      keep_released();
    } else if (settings_.time > 0) {
      keep_time();
    } else if (settings_.mass > 0) {
      keep({.kind = Budget::Kind::kMass, .value = settings_.mass});
    } else {
      keep({.value = settings_.density});
    }
    if (settings_.control == "random") {
      keep_random();
    }
    return results();
  }

 private:
  void set_pools(const std::string& scope) {
    pools_ = 1;
    for (Candidate& unit : candidates_.units) {
      const auto head = Place::unpacked(unit.place).head;
      unit.pool = scope == "global"  ? 0
                  : scope == "layer" ? static_cast<std::int32_t>(layer_of_[number(head)])
                                     : static_cast<std::int32_t>(head);
      pools_ = std::max(pools_, unit.pool + 1);
    }
  }

  // Fills in kept_: the candidates that are kept, and those of rows that were not seen.
  void keep(const Budget& budget) {
    const std::vector<std::int64_t> counts = select(candidates_.units, pools_, budget);
    kept_.clear();
    std::int32_t pool = 0;
    std::int64_t taken = 0;
    for (const Candidate& unit : candidates_.units) {
      taken = unit.pool == pool ? taken : 0;
      pool = unit.pool;
      if (taken < counts[number(pool)]) {
        kept_.push_back(unit);
        ++taken;
      }
    }
  }

  void keep_released() {
    set_pools("layer");
    const double percentile = std::round((1 - settings_.density) * 1e9) / 1e9;  // 0.3 of 1 - 0.7
    std::stable_sort(candidates_.units.begin(), candidates_.units.end(),
                     [](const Candidate& left, const Candidate& right) { return left.pool < right.pool; });
    auto begin = candidates_.units.begin();
    for (std::int32_t pool = 0; pool < pools_; ++pool) {
      const auto end =
          std::find_if(begin, candidates_.units.end(), [&](const Candidate& unit) { return unit.pool != pool; });
      const PrunedLayer& layer = layers_[number(pool)];
      const std::int64_t entries = layer.part->site.heads * layer.part->sums.queries() * layer.part->sums.keys();
      const std::int64_t threshold = released_threshold({begin, end}, entries, percentile);
      std::copy_if(begin, end, std::back_inserter(kept_),
                   [&](const Candidate& unit) { return unit.score > threshold; });
      begin = end;
    }
  }

  // The largest share whose predicted time is within the budget; more is never faster but for single blocks.
  void keep_time() {
    double whole = 0;
    for (const PrunedLayer& layer : layers_) {
      whole += layer.cost;
    }
    double low = least_share();
    const auto time_of = [&](double share) {
      keep({.value = share});
      double time = 0;
      for (const PruneResult& result : results()) {
        time += result.kept_cost;
      }
      return time / whole;
    };
    const double least = time_of(low);
    require(least <= settings_.time, "prune: the diagonal and one unit for each row take a share of ", least,
            " of the time already, but ", option("time"), " is ", settings_.time);
    double high = 1;
    constexpr int kSteps = 14;
    for (int step = 0; step < kSteps; ++step) {
      const double middle = (low + high) / 2;
      (time_of(middle) <= settings_.time ? low : high) = middle;
    }
    keep({.value = low});
  }

  // That every pool can keep.
  double least_share() const {
    std::vector<double> fixed(number(pools_));
    std::vector<double> all(number(pools_));
    for (const Candidate& unit : candidates_.units) {
      fixed[number(unit.pool)] += unit.is_fixed ? 1 : 0;
      all[number(unit.pool)] += 1;
    }
    double least = 0;
    for (std::size_t pool = 0; pool < all.size(); ++pool) {
      least = all[pool] > 0 ? std::max(least, fixed[pool] / all[pool]) : least;
    }
    return least;
  }

  // As many as are kept now in each head (of heads: in each pool), drawn at random.
  void keep_random() {
    if (settings_.unit != "head") {
      set_pools("head");
    }
    Budget budget{.kind = Budget::Kind::kCount, .counts = std::vector<std::int64_t>(number(pools_))};
    for (const Candidate& unit : kept_) {
      const auto head = Place::unpacked(unit.place).head;
      ++budget.counts[settings_.unit == "head" ? number(unit.pool) : number(head)];
    }
    for (Candidate& unit : candidates_.units) {
      unit.score = static_cast<std::int64_t>(random_bits(static_cast<std::uint64_t>(settings_.seed), unit.place) >> 1);
    }
    keep(budget);
  }

  std::vector<PruneResult> results() const {
    std::vector<PruneResult> results;
    for (const PrunedLayer& layer : layers_) {
      const Part& part = *layer.part;
      results.push_back({layer, Mask(part.site.heads, part.sums.queries(), part.sums.keys(), layer.cell)});
      results.back().is_head_kept.resize(settings_.unit == "head" ? number(part.site.heads) : 0);
    }
    const auto set = [&](std::uint64_t packed) -> PruneResult& {
      const Place place = Place::unpacked(packed);
      PruneResult& result = results[layer_of_[number(place.head)]];
      const std::int64_t head = place.head - result.layer.first_head;
      result.mask.set(head, place.row, place.column);
      if (!result.is_head_kept.empty()) {
        result.is_head_kept[number(head)] = true;
      }
      return result;
    };
    for (const Candidate& unit : kept_) {
      PruneResult& result = set(unit.place);
      ++result.kept_units;
      result.kept_mass += unit.mass;
    }
    for (const std::uint64_t place : candidates_.unseen) {
      set(place);
    }
    for (const Candidate& unit : candidates_.units) {
      PruneResult& result = results[layer_of_[number(Place::unpacked(unit.place).head)]];
      ++result.units;
      result.mass += unit.mass;
    }
    for (PruneResult& result : results) {
      finish(result);
    }
    return results;
  }

  void finish(PruneResult& result) const {
    const pattern::BlockLayout& base = result.layer.graph.layout;
    const std::int64_t head_dim = result.layer.part->site.head_dim;
    result.layout = masked_layout(base, result.mask);
    result.edges = base.edges();
    result.kept_edges = result.layout.edges();
    result.cost = result.layer.cost;
    result.kept_cost = cost_.of(result.layout, head_dim);
  }

  std::vector<PrunedLayer> layers_;
  const PruneSettings& settings_;
  const LayoutCost& cost_;
  std::vector<std::size_t> layer_of_;  // by head, counted through all layers
  Candidates candidates_;
  std::int32_t pools_ = 1;
  std::vector<Candidate> kept_;
};

}  // namespace

void check_settings(const PruneSettings& settings, const std::string& where) {
  check_fields(settings, where);
  const int budgets = static_cast<int>(settings.density > 0) + static_cast<int>(settings.mass > 0) +
                      static_cast<int>(settings.time > 0);
  if (budgets != 1) {
    throw UsageError(concat(where, ": give one of ", option("density"), ", ", option("mass"), " and ", option("time"),
                            ", above 0; found ", budgets),
                     concat("for example: ", option("density"), " 0.1, which prunes 90%"));
  }
  if (settings.released && (settings.unit != "edge" || settings.density == 0 || settings.control != "none")) {
    throw UsageError(
        concat(where, ": ", option("released"), " counts edges by density"),
        concat("leave out ", option("unit"), ", ", option("mass"), ", ", option("time"), " and ", option("control")));
  }
  if (settings.unit == "head" && settings.mass > 0) {
    throw UsageError(concat(where, ": the probabilities of every head sum to the same, so that ", option("mass"),
                            " cannot rank heads"),
                     concat("give ", option("density"), " or ", option("time")));
  }
  if (settings.unit == "head" && (settings.scope == "head" || settings.control == "window")) {
    throw UsageError(concat(where, ": ", option("unit"), " head goes with ", option("scope"), " global or layer, and ",
                            option("control"), " random"));
  }
  if (settings.unit != "edge" && settings.rank != "mass") {
    throw UsageError(
        concat(where, ": ", option("rank"), " mean is for edges, found ", option("unit"), " ", settings.unit));
  }
}

std::vector<PruneResult> prune(const AttentionProfile& profile, const PruneSettings& settings, const LayoutCost& cost,
                               const std::filesystem::path& directory) {
  check_settings(settings, "prune");
  require_complete(profile, "prune");
  std::vector<PruneResult> results = Pruner(layers_to_prune(profile, settings, directory), settings, cost).run();
  for (PruneResult& result : results) {
    if (settings.control == "window") {
      keep_window(result, settings, cost);
    }
    if (settings.unit != "head") {
      result.emptied_rows = rows_with_edges(result.layer.graph.layout) - rows_with_edges(result.layout);
    }
  }
  return results;
}

KeptDifference kept_difference(const std::vector<PruneResult>& first, const std::vector<PruneResult>& second) {
  require(first.size() == second.size(), "prune: ", first.size(), " layers cannot be compared with ", second.size());
  KeptDifference found;
  for (std::size_t layer = 0; layer < first.size(); ++layer) {
    const BaseGraph& graph = first[layer].layer.graph;
    const Mask& one = first[layer].mask;
    const Mask& other = second[layer].mask;
    require(one.heads() == other.heads() && one.rows() == other.rows() && one.columns() == other.columns(),
            "prune: layers of other sizes cannot be compared");
    for (std::int64_t head = 0; head < graph.layout.heads; ++head) {
      for_each_edge(graph.layout, head, [&](std::int64_t query, std::int64_t key) {
        const bool in_one = one.test(head, query, key);
        const bool in_other = other.test(head, query, key);
        found.only_first += in_one && !in_other ? 1 : 0;
        found.only_second += in_other && !in_one ? 1 : 0;
      });
    }
  }
  return found;
}

}  // namespace weft::profile
