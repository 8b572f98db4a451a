// SPDX-License-Identifier: Apache-2.0
// Few columns and strides are worth trying, and the smallest window follows from each choice; the predicted time
// decides. What the head had is the first candidate.
#include "weft/profile/propose/propose.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/profile/propose/merge_heads.h"
#include "weft/profile/propose/rewire.h"

namespace weft::profile {
namespace {

// Some numbers of the strongest keys, each ascending.
std::vector<std::vector<std::int64_t>> column_choices(const std::vector<std::int64_t>& strongest) {
  std::vector<std::vector<std::int64_t>> choices = {{}};
  for (const std::size_t count : {1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U, 32U, 64U, 128U}) {
    const std::size_t taken = std::min(count, strongest.size());
    if (taken > choices.back().size()) {
      std::vector<std::int64_t> keys(strongest.begin(), strongest.begin() + static_cast<std::ptrdiff_t>(taken));
      std::sort(keys.begin(), keys.end());
      choices.push_back(std::move(keys));
    }
  }
  return choices;
}

// Whether rows of the columns' positions are so many that they hold mass of note: the global tokens of an encoder.
bool can_have_rows(const Part& part, const std::vector<std::int64_t>& keys) {
  constexpr std::int64_t kRowsOfOne = 200;  // one in so many
  return !part.site.causal && !part.site.cross && std::ssize(keys) * kRowsOfOne >= part.sums.queries();
}

// Windows, columns and strides that could hold the mass; the window is not set.
std::vector<HeadTerms> terms_to_try(const Part& part, std::int64_t head) {
  std::vector<std::int64_t> strides = strong_strides(part.sums, head);
  strides.insert(strides.begin(), 0);
  std::vector<HeadTerms> terms;
  for (const auto& keys : column_choices(strong_keys(part.sums, head))) {
    for (const std::int64_t stride : strides) {
      terms.push_back({.keys = keys, .stride = stride});
      if (can_have_rows(part, keys)) {
        terms.push_back({.keys = keys, .rows = true, .stride = stride});
      }
    }
  }
  return terms;
}

}  // namespace

HeadProposal propose_head(const LayerBase& base, std::int64_t head, const ProposeSettings& settings) {
  const MassSums& sums = base.part().sums;
  const double whole = whole_mass(sums, head);
  HeadProposal best{.cost = base.head_cost(head, kWholeHead)};
  auto rank = std::tuple(best.cost, std::size_t{0}, std::int64_t{0});
  for (HeadTerms& terms : terms_to_try(base.part(), head)) {
    double kept = 0;
    if (!grow_window(sums, head, settings.mass * whole, terms, kept)) {
      continue;
    }
    const std::string expression = expression_of(terms, sums.keys());
    const double price = base.head_cost(head, expression);
    // Of equal times the one with fewer terms, then the smaller window.
    const auto here = std::tuple(price, terms.keys.size() + (terms.stride > 0 ? 1 : 0), terms.left + terms.right);
    if (here < rank) {
      rank = here;
      best = {expression, whole > 0 ? kept / whole : 1, price, terms};
    }
  }
  return best;
}

void join_heads(LayerProposal& layer) {
  const auto join = [&] {
    std::vector<std::string> expressions;
    expressions.reserve(layer.heads.size());
    for (const HeadProposal& head : layer.heads) {
      expressions.push_back(head.expression);
    }
    layer.expression = layer.base->joined(expressions);
    layer.cost = layer.base->cost_of(layer.expression);
  };
  join();
  if (layer.cost >= layer.base_cost) {
    for (std::size_t head = 0; head < layer.heads.size(); ++head) {
      layer.heads[head] = {.cost = layer.base->head_cost(static_cast<std::int64_t>(head), kWholeHead)};
    }
    layer.rewired.clear();
    join();
  }
}

std::vector<LayerProposal> propose(const AttentionProfile& profile, const ProposeSettings& settings,
                                   const LayoutCost& cost, const std::filesystem::path& directory) {
  check_fields(settings, "propose");
  require_complete(profile, "propose");
  require(!settings.rewire || settings.attend != "cross", "propose: ", option("rewire"),
          " connects the positions of one text again, and ", option("attend"),
          " cross proposes patterns from one text to another");
  std::vector<LayerProposal> layers;
  for (const Part* part : attending_parts(profile, settings.attend, "propose")) {
    LayerProposal layer{.part = part, .base = std::make_shared<LayerBase>(*part, settings.length, cost, directory)};
    layer.base_cost = layer.base->cost();
    for (std::int64_t head = 0; head < part->site.heads; ++head) {
      layer.heads.push_back(propose_head(*layer.base, head, settings));
    }
    merge_heads(layer.heads, *layer.base, settings.slack);
    join_heads(layer);
    layers.push_back(std::move(layer));
  }
  if (settings.rewire) {
    rewire(layers, settings);
  }
  return layers;
}

}  // namespace weft::profile
