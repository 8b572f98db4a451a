// SPDX-License-Identifier: Apache-2.0
// For each head of a profile the cheapest expression of the pattern language that keeps a share of its mass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/profile/attention_profile.h"
#include "weft/profile/propose/head_shape.h"
#include "weft/profile/propose/layer_base.h"
#include "weft/profile/prune/layout_cost.h"

namespace weft::profile {

struct ProposeSettings {
  double mass = 0.95;
  double slack = 0.1;
  std::int64_t length = 0;
  std::string attend = "self";
  bool rewire = false;
  double gap = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ProposeSettings;
    visit(Field{"mass", &C::mass, "share of the probability of every head that its pattern keeps"}.range(0.01, 1));
    visit(Field{"slack", &C::slack,
                "share of a layer's predicted time that its heads may take longer, so that more of them have one "
                "pattern"}
              .range(0, 10));
    visit(Field{"length", &C::length,
                "tokens of the longer text that the time is predicted for; 0 for the longest of the profile"}
              .range(0, 1 << 24));
    visit(Field{"attend", &C::attend, "the attention to propose patterns for"}.one_of({"self", "cross", "both"}));
    visit(Field{"rewire", &C::rewire,
                "add the fewest global or random edges with which as many positions hear of each other through all "
                "layers as before"});
    visit(Field{"gap", &C::gap, "where it rewires: the least spectral gap of each layer's graph"}
              .range(0, 1)
              .only_with_any({"rewire"}));
  }
};

/// A head's pattern. What the head had before is left out: the head attends where both have an edge.
struct HeadProposal {
  std::string expression = kWholeHead;  ///< without `causal &`
  double kept_mass = 1;  ///< share; an estimate where the profile has no sums of edges and there are columns
  double cost = 0;       ///< as LayoutCost has it, at the length, of this head alone
  std::optional<HeadTerms> terms = {};  ///< nothing where it keeps all that it had

  bool is_whole() const noexcept { return !terms.has_value(); }
};

struct LayerProposal {
  const Part* part = nullptr;
  std::shared_ptr<const LayerBase> base;  ///< what the layer had
  std::vector<HeadProposal> heads;
  std::string expression;  ///< of all heads, equal ones next to each other merged
  double cost = 0;         ///< of this expression: heads of a layer are computed together
  double base_cost = 0;    ///< of the pattern that was profiled
  std::string rewired;     ///< the term that was added to the cheapest head, or nothing
};

/// Errors: kArgument for a profile of a part of its data, one without such attention, or a length that a profiled
/// pattern does not fit; kUnsupported for mechanisms that are no pattern. Files of the patterns lie below `directory`.
/// The profile and `cost` outlive the result.
std::vector<LayerProposal> propose(const AttentionProfile& profile, const ProposeSettings& settings,
                                   const LayoutCost& cost, const std::filesystem::path& directory = {});

/// The cheapest pattern of a head that holds the share of its mass: all that it had, or a window with columns and a
/// stride among them.
HeadProposal propose_head(const LayerBase& base, std::int64_t head, const ProposeSettings& settings);

/// Builds the layer's expression of its heads, and prices it. A layer that would take as long as before keeps what it
/// had.
void join_heads(LayerProposal& layer);

}  // namespace weft::profile
