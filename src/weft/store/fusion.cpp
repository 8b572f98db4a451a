// SPDX-License-Identifier: Apache-2.0
// Passages that one ranking alone has get nothing from the other.
#include "weft/store/fusion.h"

#include <unordered_map>

namespace weft::store {

std::vector<Hit> fuse(std::span<const Hit> first, std::span<const Hit> second) {
  constexpr double kRankConstant = 60.0;
  std::unordered_map<std::int64_t, double> scores;
  for (const std::span<const Hit> ranking : {first, second}) {
    double rank = 1.0;
    for (const Hit& hit : ranking) {
      scores[hit.passage] += 1.0 / (kRankConstant + rank);
      rank += 1.0;
    }
  }
  std::vector<Hit> fused;
  fused.reserve(scores.size());
  for (const auto& [passage, score] : scores) {
    fused.push_back({passage, score});
  }
  keep_best(fused, fused.size());
  return fused;
}

}  // namespace weft::store
