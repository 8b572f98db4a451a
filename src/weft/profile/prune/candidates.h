// SPDX-License-Identifier: Apache-2.0
// What of a profile can be kept or pruned: the edges, blocks or heads of its layers, each with its probability, and
// which of them are kept whatever they carry.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/profile/attention_profile.h"
#include "weft/profile/prune/base_graph.h"
#include "weft/profile/prune/layout_cost.h"
#include "weft/profile/prune/selection.h"
#include "weft/profile/prune/settings.h"

namespace weft::profile {

/// A layer that is pruned.
struct PrunedLayer {
  const Part* part = nullptr;
  BaseGraph graph;
  std::int64_t cell = 1;        ///< positions on each side of a unit: 1, a block, or all of them
  std::int64_t first_head = 0;  ///< heads of the layers before it
  double cost = 0;              ///< of the base, as LayoutCost has it
};

/// Positions on each side of a unit of this layer. Errors: kArgument for blocks that are no multiple of the tile, and
/// for edges where the profile has none.
std::int64_t cell_of(const Part& part, const AttentionProfile& profile, const PruneSettings& settings);

/// Which head of which layer a unit belongs to, and its row and column among the units of that head.
struct Place {
  std::int64_t head = 0;  ///< counted through all layers
  std::int64_t row = 0;
  std::int64_t column = 0;

  static constexpr std::int64_t kMost = std::int64_t{1} << 20;  ///< rows and columns

  std::uint64_t packed() const noexcept {
    return static_cast<std::uint64_t>(head) << 40 | static_cast<std::uint64_t>(row) << 20 |
           static_cast<std::uint64_t>(column);
  }
  static Place unpacked(std::uint64_t place) noexcept {
    constexpr std::uint64_t kLow = kMost - 1;
    return {static_cast<std::int64_t>(place >> 40), static_cast<std::int64_t>(place >> 20 & kLow),
            static_cast<std::int64_t>(place & kLow)};
  }
};

/// Units of the rows that were seen; those of other rows are kept (`unseen`), but count as zeros of the released code.
/// Pools are not filled in. The diagonal, where the pattern has it and the settings keep it, and else the first unit of
/// each row are fixed. Errors: kArgument for more than 2^20 rows.
struct Candidates {
  std::vector<Candidate> units;
  std::vector<std::uint64_t> unseen;
};
Candidates candidates_of(const std::vector<PrunedLayer>& layers, const PruneSettings& settings, const LayoutCost& cost);

}  // namespace weft::profile
