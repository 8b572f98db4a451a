// SPDX-License-Identifier: Apache-2.0
// What listing edges, blocks and heads of a layer has in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

#include "weft/profile/prune/candidates.h"

namespace weft::profile {

inline std::size_t unit_index(std::int64_t number) { return static_cast<std::size_t>(number); }

/// numerator * 2^shift / denominator, downwards and at most 2^63 - 1: a ratio that is compared as a whole number.
inline std::int64_t whole_ratio(std::int64_t numerator, int shift, std::int64_t denominator) {
  __extension__ using Wide = __int128;
  const Wide quotient = (static_cast<Wide>(numerator) << shift) / denominator;
  return static_cast<std::int64_t>(std::min<Wide>(quotient, std::numeric_limits<std::int64_t>::max()));
}

inline bool is_better(const Candidate& left, const Candidate& right) {
  return std::tuple(left.score, left.place) > std::tuple(right.score, right.place);
}

/// How many rows a head had at a position.
inline std::int64_t rows_at(const PrunedLayer& layer, std::int64_t head, std::int64_t query) {
  return layer.part->sums.rows[unit_index(head * layer.part->sums.queries() + query)];
}

/// The blocks of all heads of a layer, those that are kept in any case fixed.
void add_blocks(const PrunedLayer& layer, const PruneSettings& settings, const LayoutCost& cost, Candidates& found);

}  // namespace weft::profile
