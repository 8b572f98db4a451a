// SPDX-License-Identifier: Apache-2.0
// A profile pruned: for each layer the edges, blocks or heads that are kept, what they carry and what they cost.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/profile/prune/candidates.h"

namespace weft::profile {

/// What is left of a layer, and what it was.
struct PruneResult {
  PrunedLayer layer;
  Mask mask;                 ///< of units; empty where a window is kept
  std::int64_t window = -1;  ///< --control window: the largest distance that is kept
  pattern::BlockLayout layout;
  std::vector<bool> is_head_kept;  ///< --unit head
  std::int64_t units = 0;          ///< that could be kept
  std::int64_t kept_units = 0;
  std::int64_t edges = 0;  ///< of all positions
  std::int64_t kept_edges = 0;
  std::int64_t mass = 0;  ///< in kMassUnit, as the next
  std::int64_t kept_mass = 0;
  std::int64_t emptied_rows = 0;  ///< rows of a head that had an edge, and have none
  double cost = 0;                ///< as LayoutCost has it, before pruning
  double kept_cost = 0;
};

/// Errors: kArgument for settings that do not go together, a profile of a part of its data, one without attention of
/// the kind that is to be pruned, and a budget below what is kept in any case; those of base_graph and cell_of. The
/// profile outlives the result. Files of the patterns lie below `directory`.
std::vector<PruneResult> prune(const AttentionProfile& profile, const PruneSettings& settings, const LayoutCost& cost,
                               const std::filesystem::path& directory = {});

/// Edges that one of two prunes of the same profile keeps and the other does not.
struct KeptDifference {
  std::int64_t only_first = 0;
  std::int64_t only_second = 0;
};

/// Of prunes by edge. Errors: kArgument for prunes of other layers.
KeptDifference kept_difference(const std::vector<PruneResult>& first, const std::vector<PruneResult>& second);

}  // namespace weft::profile
