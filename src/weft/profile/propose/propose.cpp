// SPDX-License-Identifier: Apache-2.0
// Few columns and strides are worth trying, and the smallest window follows from each choice; the predicted time
// decides.
#include "weft/profile/propose/propose.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "weft/core/error.h"
#include "weft/pattern/pattern.h"
#include "weft/profile/propose/rewire.h"
#include "weft/profile/prune/base_graph.h"

namespace weft::profile {
namespace {

std::int64_t predicted_length(const Part& part, const ProposeSettings& settings) {
  return settings.length > 0 ? settings.length : std::max(part.sums.queries(), part.sums.keys());
}

// Of one head with `expression`; equal ones are asked for often.
class HeadCost {
 public:
  HeadCost(const Part& part, std::int64_t length, const LayoutCost& cost) : part_(part), length_(length), cost_(cost) {}

  double of(const std::string& expression) {
    const auto known = costs_.find(expression);
    if (known != costs_.end()) {
      return known->second;
    }
    const auto pattern =
        pattern::Pattern::parse(part_.site.causal ? concat("causal & (", expression, ")") : expression);
    const pattern::Site site{.query_length = length_, .key_length = length_, .maximum_length = length_};
    return costs_[expression] = cost_.of(pattern::compile(pattern, site, {}), part_.site.head_dim);
  }

 private:
  const Part& part_;
  std::int64_t length_;
  const LayoutCost& cost_;
  std::map<std::string, double> costs_;
};

// 0, 1, 2, 3, 4, 6, 8, 12 and 16 of the strongest keys, each ascending.
std::vector<std::vector<std::int64_t>> column_choices(const std::vector<std::int64_t>& strongest) {
  std::vector<std::vector<std::int64_t>> choices = {{}};
  for (const std::size_t count : {1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U}) {
    const std::size_t taken = std::min(count, strongest.size());
    if (taken > choices.back().size()) {
      std::vector<std::int64_t> keys(strongest.begin(), strongest.begin() + static_cast<std::ptrdiff_t>(taken));
      std::sort(keys.begin(), keys.end());
      choices.push_back(std::move(keys));
    }
  }
  return choices;
}

}  // namespace

HeadProposal propose_head(const Part& part, std::int64_t head, const ProposeSettings& settings,
                          const LayoutCost& cost) {
  const MassSums& sums = part.sums;
  const auto begin = sums.distance.begin() + head * sums.distances();
  const double whole = std::accumulate(begin, begin + sums.distances(), 0.0,
                                       [](double sum, std::int64_t mass) { return sum + static_cast<double>(mass); });
  HeadCost costs(part, predicted_length(part, settings), cost);
  HeadProposal best{"full", 1, costs.of("full")};
  auto rank = std::tuple(best.cost, std::size_t{0}, std::int64_t{0});
  std::vector<std::int64_t> strides = strong_strides(sums, head);
  strides.insert(strides.begin(), 0);
  for (const auto& keys : column_choices(strong_keys(sums, head))) {
    for (const std::int64_t stride : strides) {
      HeadTerms terms{.keys = keys, .stride = stride};
      double kept = 0;
      if (!grow_window(sums, head, settings.mass * whole, terms, kept)) {
        continue;
      }
      const std::string expression = expression_of(terms);
      const double price = costs.of(expression);
      // Of equal times the one with fewer terms, then the smaller window.
      const auto here = std::tuple(price, keys.size() + (stride > 0 ? 1 : 0), terms.left + terms.right);
      if (here < rank) {
        rank = here;
        best = {expression, whole > 0 ? kept / whole : 1, price};
      }
    }
  }
  return best;
}

void join_heads(LayerProposal& layer) {
  std::vector<std::pair<std::string, std::int64_t>> runs;
  for (const HeadProposal& head : layer.heads) {
    if (runs.empty() || runs.back().first != head.expression) {
      runs.emplace_back(head.expression, 0);
    }
    ++runs.back().second;
  }
  const bool is_one = runs.size() == 1;
  std::string text = is_one ? runs.front().first : "";
  for (std::size_t run = 0; run < runs.size() && !is_one; ++run) {
    text += concat(run == 0 ? "heads(" : ", ", runs[run].second, " * ", runs[run].first);
  }
  text += is_one ? "" : ")";
  if (layer.part->site.causal) {
    text = text == "full" ? "causal" : is_one ? concat("causal & (", text, ")") : concat("causal & ", text);
  }
  layer.expression = pattern::Pattern::parse(text).to_string();
}

std::vector<LayerProposal> propose(const AttentionProfile& profile, const ProposeSettings& settings,
                                   const LayoutCost& cost) {
  check_fields(settings, "propose");
  require_complete(profile, "propose");
  std::vector<LayerProposal> layers;
  for (const Part& part : profile.parts) {
    if (settings.attend != "both" && part.site.cross != (settings.attend == "cross")) {
      continue;
    }
    require(part.site.reason.empty(), "propose: the profile has no sums of ", part.site.name, ": ", part.site.reason);
    require(part.sums.queries() > 0, "propose: the profile has no row of ", part.site.name, "; profile a text first");
    LayerProposal layer{.part = &part};
    layer.base_cost = base_cost(part, predicted_length(part, settings), cost);
    for (std::int64_t head = 0; head < part.site.heads; ++head) {
      layer.heads.push_back(propose_head(part, head, settings, cost));
      layer.cost += layer.heads.back().cost;
    }
    join_heads(layer);
    layers.push_back(std::move(layer));
  }
  require(!layers.empty(), "propose: the profile is of a model without ", settings.attend, "-attention");
  if (settings.rewire) {
    rewire(layers, settings, cost);
  }
  return layers;
}

}  // namespace weft::profile
