// SPDX-License-Identifier: Apache-2.0
// Two rankings as one, by ranks alone: scores of words and of vectors do not compare.
#pragma once

#include <span>
#include <vector>

#include "weft/store/hit.h"

namespace weft::store {

/// Reciprocal rank fusion (Cormack et al. 2009): a passage scores the sum over the rankings that have it of
/// 1 / (60 + rank), ranks from 1. Best first.
std::vector<Hit> fuse(std::span<const Hit> first, std::span<const Hit> second);

}  // namespace weft::store
