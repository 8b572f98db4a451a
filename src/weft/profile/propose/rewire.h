// SPDX-License-Identifier: Apache-2.0
// What patterns made of windows lose: positions far from each other hear of each other through many layers or never.
// A few global or random edges give it back.
#pragma once

#include <vector>

#include "weft/profile/propose/propose.h"

namespace weft::profile {

/// Positions that can be measured: a graph of more holds too many words of edges.
inline constexpr std::int64_t kLongestWired = 16384;

/// How the proposed patterns of a stack connect.
struct Connection {
  double reach = 0;  ///< positions that a position hears of through all layers, over those that it heard of before
  double gap = 0;    ///< the smallest spectral gap of a layer; 1 where settings.gap is 0: it is not measured then
};

/// Of the layers of self-attention at the length: the least of all stacks, an encoder and a decoder being two. Errors:
/// kArgument for more than kLongestWired tokens.
Connection connection(const std::vector<LayerProposal>& layers, const ProposeSettings& settings);

/// Adds a term to the cheapest head of layers of self-attention, until positions hear of as many as before (to one in
/// a thousand) and each layer has the gap that is asked for. Of global(n, side=keys), global(n) and random(n), n up to
/// 64, and of a head with all that it had, the one that adds the fewest edges: the smallest n that is enough in all
/// layers, and then without the layers that can do without. Errors: as connection(); kArgument where none is enough.
void rewire(std::vector<LayerProposal>& layers, const ProposeSettings& settings);

}  // namespace weft::profile
