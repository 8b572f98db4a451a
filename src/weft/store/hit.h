// SPDX-License-Identifier: Apache-2.0
// What a search finds: passages by number, with what they scored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::store {

struct Hit {
  std::int64_t passage = 0;
  double score = 0.0;
};

/// Higher scores first; of equal ones the passage that came first into the store.
inline bool ranks_before(const Hit& a, const Hit& b) noexcept {
  return a.score > b.score || (a.score == b.score && a.passage < b.passage);
}

/// Keeps the best `count` of `hits`, in order.
inline void keep_best(std::vector<Hit>& hits, std::size_t count) {
  const auto middle = hits.begin() + static_cast<std::ptrdiff_t>(std::min(count, hits.size()));
  std::partial_sort(hits.begin(), middle, hits.end(), ranks_before);
  hits.erase(middle, hits.end());
}

}  // namespace weft::store
