// SPDX-License-Identifier: Apache-2.0
// For each head of a profile the cheapest expression of the pattern language that keeps a share of its mass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/profile/attention_profile.h"
#include "weft/profile/propose/head_shape.h"
#include "weft/profile/prune/layout_cost.h"

namespace weft::profile {

struct ProposeSettings {
  double mass = 0.95;
  std::int64_t length = 0;
  std::string attend = "self";
  bool rewire = false;
  double gap = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ProposeSettings;
    visit(Field{"mass", &C::mass, "share of the probability of every head that its pattern keeps"}.range(0.01, 1));
    visit(Field{"length", &C::length, "tokens that the time is predicted for; 0 for the longest text of the profile"}
              .range(0, 1 << 24));
    visit(Field{"attend", &C::attend, "the attention to propose patterns for"}.one_of({"self", "cross", "both"}));
    visit(Field{"rewire", &C::rewire,
                "add the fewest global or random keys with which as many positions hear of each other through all "
                "layers as before"});
    visit(Field{"gap", &C::gap, "with --rewire: the least spectral gap of each layer's graph"}.range(0, 1));
  }
};

/// A head's pattern.
struct HeadProposal {
  std::string expression;  ///< without `causal &`
  double kept_mass = 0;    ///< share; an estimate where the profile has no sums of edges and there are columns
  double cost = 0;         ///< as LayoutCost has it, at the length
};

struct LayerProposal {
  const Part* part = nullptr;
  std::vector<HeadProposal> heads;
  std::string expression;  ///< of all heads, equal ones next to each other merged
  double cost = 0;         ///< of all heads
  double base_cost = 0;    ///< of the pattern that was profiled
  std::string rewired;     ///< the term that was added to the cheapest head, or nothing
};

/// Errors: kArgument for a profile of a part of its data, one without such attention, or a length that a profiled
/// pattern does not fit; kUnsupported for mechanisms that are no pattern. The profile outlives the result.
std::vector<LayerProposal> propose(const AttentionProfile& profile, const ProposeSettings& settings,
                                   const LayoutCost& cost);

/// The cheapest head of `sums`, and what it holds.
HeadProposal propose_head(const Part& part, std::int64_t head, const ProposeSettings& settings, const LayoutCost& cost);

/// Builds the layer's expression of its heads.
void join_heads(LayerProposal& layer);

}  // namespace weft::profile
