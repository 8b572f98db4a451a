// SPDX-License-Identifier: Apache-2.0
// Heads of a layer that share a pattern: a line that a person reads, and layouts that the kernel builds once.
#pragma once

#include <vector>

#include "weft/profile/propose/layer_base.h"
#include "weft/profile/propose/propose.h"

namespace weft::profile {

/// Widens the terms of heads until fewer are different, while the predicted cost of all heads rises by at most the
/// share `slack`: columns of a tile are filled up and windows made symmetric where that costs less than 1%, then of all
/// pairs of patterns the one is united whose union costs least more for each run of equal heads that it saves. What a
/// head keeps never becomes less.
void merge_heads(std::vector<HeadProposal>& heads, const LayerBase& base, double slack);

}  // namespace weft::profile
