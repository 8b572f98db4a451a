// SPDX-License-Identifier: Apache-2.0
// One sort; then each pool is a run of candidates whose first ones are kept.
#include "weft/profile/prune/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "weft/core/error.h"

namespace weft::profile {
namespace {

bool comes_first(const Candidate& left, const Candidate& right) {
  return std::tuple(left.pool, !left.is_fixed, -left.score, ~left.place) <
         std::tuple(right.pool, !right.is_fixed, -right.score, ~right.place);
}

// The fewest of `pool`, fixed ones included, whose mass is the share of all.
std::int64_t count_of_mass(std::span<const Candidate> pool, double share) {
  std::int64_t whole = 0;
  for (const Candidate& candidate : pool) {
    whole += candidate.mass;
  }
  const auto wanted = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(whole)));
  std::int64_t kept = 0;
  std::int64_t count = 0;
  for (const Candidate& candidate : pool) {
    if (!candidate.is_fixed && kept >= std::min(wanted, whole)) {
      break;
    }
    kept += candidate.mass;
    ++count;
  }
  return count;
}

std::int64_t count_of(std::span<const Candidate> pool, std::int32_t number, const Budget& budget) {
  switch (budget.kind) {
    case Budget::Kind::kMass:
      return count_of_mass(pool, budget.value);
    case Budget::Kind::kCount:
      return budget.counts.at(static_cast<std::size_t>(number));
    default:
      return std::llround(budget.value * static_cast<double>(pool.size()));
  }
}

}  // namespace

std::vector<std::int64_t> select(std::vector<Candidate>& candidates, std::int32_t pools, const Budget& budget) {
  std::sort(candidates.begin(), candidates.end(), comes_first);
  std::vector<std::int64_t> kept(static_cast<std::size_t>(pools));
  auto begin = candidates.begin();
  for (std::int32_t pool = 0; pool < pools; ++pool) {
    const auto end = std::find_if(begin, candidates.end(), [&](const Candidate& c) { return c.pool != pool; });
    const auto free = std::find_if(begin, end, [](const Candidate& c) { return !c.is_fixed; });
    const std::span<const Candidate> of_pool(begin, end);
    const std::int64_t count = count_of(of_pool, pool, budget);
    if (count < free - begin) {
      const double least = static_cast<double>(free - begin) / static_cast<double>(of_pool.size());
      fail(ErrorKind::kArgument, "prune: ", count, " of ", of_pool.size(), " are to be kept, but the diagonal and one ",
           "for each row are ", free - begin, " already; keep at least a share of ", std::ceil(least * 1e4) / 1e4);
    }
    kept[static_cast<std::size_t>(pool)] = std::min<std::int64_t>(count, end - begin);
    begin = end;
  }
  return kept;
}

std::int64_t released_threshold(std::span<const Candidate> layer, std::int64_t entries, double share) {
  std::vector<std::int64_t> scores(layer.size());
  std::transform(layer.begin(), layer.end(), scores.begin(), [](const Candidate& c) { return c.score; });
  std::sort(scores.begin(), scores.end());
  const double at = share * static_cast<double>(entries - 1);
  const auto index = static_cast<std::int64_t>(std::nearbyint(at));
  const std::int64_t zeros = entries - static_cast<std::int64_t>(scores.size());
  return index < zeros ? 0 : scores.at(static_cast<std::size_t>(std::min(index, entries - 1) - zeros));
}

}  // namespace weft::profile
