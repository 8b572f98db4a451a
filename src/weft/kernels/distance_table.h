// SPDX-License-Identifier: Apache-2.0
// The entry of a distance table that a pair of positions has. What panels add is tested against this. No STL container
// here: files compiled for one instruction set include this header.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"

namespace weft::kernels {

/// The entry of a distance: beyond either end of the row the one at that end.
[[gnu::always_inline]] constexpr std::int64_t distance_entry(const DistanceTable& table,
                                                             std::int64_t distance) noexcept {
  const std::int64_t entry = distance + table.zero;
  return entry < 0 ? 0 : (entry < table.span ? entry : table.span - 1);
}

/// Where the entry of a pair stands in the [rows][span] of a head. `query` counts from the first query.
[[gnu::always_inline]] constexpr std::int64_t distance_place(const DistanceTable& table, std::int64_t query,
                                                             std::int64_t key) noexcept {
  const std::int64_t position = query + table.query_offset;
  const bool is_first = table.rows == 2 && (position == 0) != (key == 0);
  return (is_first ? table.span : 0) + distance_entry(table, position - key);
}

/// What is added to scale * q k for row `query` and key `key` of a head.
template <typename Sum>
[[gnu::always_inline]] constexpr Sum distance_score(const DistanceTable& table, std::int64_t head, std::int64_t query,
                                                    std::int64_t key) noexcept {
  return table.scores == nullptr
             ? Sum{0}
             : static_cast<const Sum*>(
                   table.scores)[head * table.rows * table.span + distance_place(table, query, key)];
}

}  // namespace weft::kernels
