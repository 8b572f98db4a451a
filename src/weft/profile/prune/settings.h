// SPDX-License-Identifier: Apache-2.0
// What `weft prune` is asked for.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/fields.h"

namespace weft::profile {

/// Of density, mass and time one is given; the others are 0.
struct PruneSettings {
  double density = 0;
  double mass = 0;
  double time = 0;
  std::string unit = "edge";
  std::string scope = "global";
  std::string attend = "self";
  std::string rank = "mass";
  std::int64_t block = 64;
  bool diagonal = true;
  bool released = false;
  std::string control = "none";
  std::int64_t seed = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = PruneSettings;
    visit(Field{"density", &C::density, "share of the units to keep; pruning by 90% is a density of 0.1"}.range(0, 1));
    visit(Field{"mass", &C::mass, "keep as few units as have this share of the probability"}.range(0, 1));
    visit(Field{"time", &C::time,
                "keep as many units as take this share of the attention's predicted time, forwards, before pruning"}
              .range(0, 1));
    visit(Field{"unit", &C::unit,
                "what is kept or pruned: single edges, blocks of block x block positions, or whole heads"}
              .one_of({"edge", "block", "head"}));
    visit(Field{"scope", &C::scope, "whose units are ranked together, and share the budget"}.one_of(
        {"global", "layer", "head"}));
    visit(Field{"attend", &C::attend, "the attention to prune"}.one_of({"self", "cross", "both"}));
    visit(Field{"rank", &C::rank,
                "edges are ranked by their summed probability (mass), or by the mean over the rows that could have "
                "them (mean), which counts the ends of rare long texts as much as all else"}
              .one_of({"mass", "mean"}));
    visit(Field{"block", &C::block, "positions on each side of a block, a multiple of the profile's tile"}
              .range(1, 1 << 20)
              .only_with("unit", {"block"}));
    visit(Field{"diagonal", &C::diagonal, "always keep the edge from a position to itself"}.only_with(
        "unit", {"edge", "block"}));
    visit(Field{"released", &C::released,
                "count as the released code of Rugina et al. (2020) does: means, a percentile of them for each layer, "
                "edges that a causal pattern does not have and rows that no text had counted as zeros, all ties "
                "pruned, no row spared"});
    visit(Field{"control", &C::control,
                "instead of the units that carry most: random ones, as many in each head; or one window for each "
                "layer, as many edges (with the unit edge) or as much predicted time"}
              .one_of({"none", "random", "window"}));
    visit(Field{"seed", &C::seed, "random seed of the control random"}.at_least(0).only_with("control", {"random"}));
  }
};

/// Errors: kArgument unless exactly one budget is given, and for settings that do not go together.
void check_settings(const PruneSettings& settings, const std::string& where);

}  // namespace weft::profile
