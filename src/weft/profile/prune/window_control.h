// SPDX-License-Identifier: Apache-2.0
// The control that costs as much and knows nothing of the profile: one window for all heads of a layer.
#pragma once

#include "weft/profile/prune/prune.h"

namespace weft::profile {

/// Replaces what is kept of a layer by the widest window in its pattern that has no more edges (of units edge) or takes
/// no more predicted time; at least the diagonal.
void keep_window(PruneResult& result, const PruneSettings& settings, const LayoutCost& cost);

/// `base & window(left=w, right=w)`, without the right side where the layer is causal.
pattern::Pattern windowed(const pattern::Pattern& base, std::int64_t distance, bool causal);

}  // namespace weft::profile
