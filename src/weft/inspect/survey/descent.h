// SPDX-License-Identifier: Apache-2.0
// A random way down through a rectangle of pairs (Knuth 1975, "Estimating the efficiency of backtrack programs"): it is
// halved, parts that the pattern answers at once are counted, and one of the others is taken further with the weight of
// both. The expected count is exact, and the work is a logarithm of the rectangle.
#pragma once

#include <array>
#include <cstdint>

#include "weft/core/random.h"
#include "weft/pattern/compile/row_walk.h"

namespace weft::inspect {

// Work is counted in questions to the pattern.
constexpr double kDescentCost = 100;  ///< of a way down
constexpr double kDrawCost = 2;       ///< of a draw or a look-up

/// Queries as positions, offset included.
struct PairRange {
  pattern::Range query;
  pattern::Range key;
  double pairs() const noexcept { return static_cast<double>(query.size()) * static_cast<double>(key.size()); }
};

struct Descent {
  const pattern::Node& root;
  const pattern::Context& context;
  std::int64_t query_leaf = 64;  ///< parts of at most so many queries,
  std::int64_t key_leaf = 64;    ///< and at most so many keys, are not halved any more
  std::int64_t blind = 0;        ///< up to so many queries, one is drawn without a question: rows are listed one by one
  std::uint64_t seed = 0;        ///< of the draws

  std::uint64_t draw(std::int64_t level) const {
    constexpr std::uint64_t kKey = 0x64657363656E74;
    return random_bits(kKey, seed, static_cast<std::uint64_t>(level));
  }
};

/// The two parts of a range, cut at a whole number of leaves from its beginning.
inline std::array<pattern::Range, 2> halves_of(const pattern::Range& range, std::int64_t leaf) {
  const std::int64_t middle = range.begin + pattern::half_of(pattern::ceil_divide(range.size(), leaf)) * leaf;
  return {pattern::Range{range.begin, middle}, pattern::Range{middle, range.end}};
}

/// One of up to 4,096 queries, all equally likely.
inline pattern::Range one_of(const pattern::Range& queries, std::uint64_t bits) {
  const auto drawn = random_below(bits, static_cast<std::uint64_t>(queries.size()));
  const std::int64_t query = queries.begin + static_cast<std::int64_t>(drawn);
  return {query, query + 1};
}

/// Halves a part: by queries first, because most patterns have something in each. Calls `visit` for halves that are
/// even and have edges; returns how many others there are, written to `mixed`.
template <typename Visit>
std::size_t halve(const Descent& down, const PairRange& part, std::array<PairRange, 2>& mixed, const Visit& visit) {
  const bool by_query = part.query.size() > down.query_leaf;
  std::size_t count = 0;
  for (const pattern::Range& half :
       halves_of(by_query ? part.query : part.key, by_query ? down.query_leaf : down.key_leaf)) {
    const PairRange piece = by_query ? PairRange{half, part.key} : PairRange{part.query, half};
    const bool unasked = by_query && half.size() <= down.blind;
    const int value = unasked ? pattern::kMixed : down.root.uniform(down.context, piece.query, piece.key);
    if (value > 0) {
      visit(piece, value);
    } else if (value == pattern::kMixed) {
      mixed[count++] = piece;
    }
  }
  return count;
}

/// Calls `visit(part, multiplicity, weight)` for parts that are even and have edges, and with kMixed for the part that
/// is reached in the end, unless that is even too.
template <typename Visit>
void descend(const Descent& down, PairRange part, const Visit& visit) {
  double weight = 1;
  for (std::int64_t level = 0;; ++level) {
    const std::int64_t queries = part.query.size();
    if (queries > 1 && queries <= down.blind) {
      part.query = one_of(part.query, down.draw(level));
      weight *= static_cast<double>(queries);
      continue;
    }
    if (queries <= down.query_leaf && part.key.size() <= down.key_leaf) {
      visit(part, pattern::kMixed, weight);
      return;
    }
    std::array<PairRange, 2> mixed;
    const std::size_t count =
        halve(down, part, mixed, [&](const PairRange& piece, int value) { visit(piece, value, weight); });
    if (count == 0) {
      return;
    }
    part = count == 1 ? mixed[0] : mixed[random_below(down.draw(level), 2)];
    weight *= static_cast<double>(count);
  }
}

}  // namespace weft::inspect
