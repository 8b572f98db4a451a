// SPDX-License-Identifier: Apache-2.0
// What patterns made of windows lose: positions far from each other hear of each other through many layers or never.
// A few global or random keys give it back.
#pragma once

#include <vector>

#include "weft/profile/propose/propose.h"

namespace weft::profile {

/// How a layer's proposed patterns connect.
struct Connection {
  double reach = 0;  ///< share of the positions that a position hears of through all layers, after which as before 1
  double gap = 0;    ///< the smallest spectral gap of a layer
};

/// Of the layers of self-attention, at the length. Errors: kArgument for more than 4,096 tokens.
Connection connection(const std::vector<LayerProposal>& layers, const ProposeSettings& settings);

/// Adds to the cheapest head of every layer of self-attention the first of global(1), random(1), global(2), random(2),
/// global(4), ... random(64) with which positions hear of as many as before (to one in a thousand), and each layer has
/// the gap that is asked for. Errors: as connection(); kArgument where none does.
void rewire(std::vector<LayerProposal>& layers, const ProposeSettings& settings, const LayoutCost& cost);

/// Of the pattern that was profiled, at `length`. Errors: kUnsupported for a mechanism that is no pattern.
double base_cost(const Part& part, std::int64_t length, const LayoutCost& cost);

}  // namespace weft::profile
