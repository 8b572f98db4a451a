// SPDX-License-Identifier: Apache-2.0
// Which of many candidates are kept: as many as a budget says, the highest first, in an order that has no ties.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::profile {

/// An edge, a block or a head. Its place is its number in the order (layer, head, query, key).
struct Candidate {
  std::int64_t score = 0;  ///< what it is ranked by
  std::int64_t mass = 0;   ///< what keeping it keeps
  std::uint64_t place = 0;
  std::int32_t pool = 0;  ///< those with equal pools share a budget
  bool is_fixed = false;  ///< kept, whatever its score
};

/// How many of a pool are kept.
struct Budget {
  enum class Kind { kShare, kMass, kCount };
  Kind kind = Kind::kShare;
  double value = 1;                       ///< the share of the candidates (to the nearest whole one), or of their mass
  std::vector<std::int64_t> counts = {};  ///< by pool
};

/// Sorts the candidates by pool, and in a pool from the first that is kept to the last: fixed ones, then by (score,
/// place) from high to low, so that of equal scores the one in a lower layer, head, query and key goes first. Returns
/// for each pool how many of them are kept. With kMass those are as few as have at least the share of the pool's mass.
/// Errors: kArgument where the fixed ones are more than the budget, with the least budget that works.
std::vector<std::int64_t> select(std::vector<Candidate>& candidates, std::int32_t pools, const Budget& budget);

/// What the released code of Rugina et al. (2020) prunes of one layer: every entry not above the percentile of all of
/// the layer's entries, those that are no edge counted as zeros; the percentile is the entry nearest to it
/// (numpy.percentile with method nearest, halves to the even index). Returns that entry's score: what is above it is
/// kept. `share` is pruned of `entries`.
std::int64_t released_threshold(std::span<const Candidate> layer, std::int64_t entries, double share);

}  // namespace weft::profile
