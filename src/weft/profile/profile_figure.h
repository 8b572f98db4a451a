// SPDX-License-Identifier: Apache-2.0
// A profile as a figure for a paper: where each head looks on the average over all texts.
#pragma once

#include "weft/inspect/picture/heat.h"
#include "weft/profile/attention_profile.h"

namespace weft::profile {

/// A line for each part that has sums, a panel for each head: the mean probability of a pair, by edge where edges were
/// summed, else by tile.
inspect::HeatFigure profile_figure(const AttentionProfile& profile);

}  // namespace weft::profile
