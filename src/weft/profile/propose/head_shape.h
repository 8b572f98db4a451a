// SPDX-License-Identifier: Apache-2.0
// What a head's attention looks like: how much of it a window, some columns of keys and a stride hold together. From
// the sums by distance and key; where edges were summed, what the terms have in common is counted exactly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/profile/attention_profile.h"

namespace weft::profile {

/// Terms of the pattern language that are united. Distances are those of a query behind its key.
struct HeadTerms {
  std::int64_t left = 0;                ///< the window: keys up to so far before the query,
  std::int64_t right = 0;               ///< and behind it
  std::vector<std::int64_t> keys = {};  ///< columns, ascending
  bool rows = false;                    ///< queries at the positions of the columns see everything
  std::int64_t stride = 0;              ///< 0: none
};

/// `window(left=8) | global(2, side=keys) | stride(64)`, for texts of `keys` tokens: columns at the ends are counted
/// from there.
std::string expression_of(const HeadTerms& terms, std::int64_t keys);

/// Positions that attract more than twice the median of all keys, and more than 0.05% of the whole; the strongest
/// first, at most 128.
std::vector<std::int64_t> strong_keys(const MassSums& sums, std::int64_t head);

/// Strides whose distances hold twice what they would if distances were alike, and more than 5% of the whole; the
/// longest of those that hold most first, at most two.
std::vector<std::int64_t> strong_strides(const MassSums& sums, std::int64_t head);

/// The smallest window that, with the given columns and stride, holds at least `wanted`: it grows by the side that
/// holds more. `kept` is then what they hold: exact where there are sums of edges, else estimated. Returns
/// whether any window does.
bool grow_window(const MassSums& sums, std::int64_t head, double wanted, HeadTerms& terms, double& kept);

/// What the terms with their window hold of the head's mass, as a share; exact or estimated as above.
double kept_share(const MassSums& sums, std::int64_t head, const HeadTerms& terms);

/// The sum over all probabilities of a head.
double whole_mass(const MassSums& sums, std::int64_t head);

}  // namespace weft::profile
