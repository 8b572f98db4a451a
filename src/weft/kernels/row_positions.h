// SPDX-License-Identifier: Apache-2.0
// Which keys a query sees by their positions, for one row. What blocks and single rows do is tested against this. No
// STL container here: files compiled for one instruction set include this header.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"
#include "weft/kernels/rows.h"

namespace weft::kernels {

/// The positions [first, last] that a query sees, and its own one, or -1 where that is a position like others: no key
/// is seen at it.
struct SeenPositions {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t own = -1;

  [[gnu::always_inline]] constexpr bool sees(std::int32_t key) const noexcept { return first <= key && key <= last; }
};

[[gnu::always_inline]] constexpr bool has_positions(const AttentionArguments& arguments) noexcept {
  return arguments.positions.queries != nullptr;
}

[[gnu::always_inline]] constexpr SeenPositions seen_positions(const AttentionArguments& arguments,
                                                              const RowIndex& query) noexcept {
  const RowPositions& positions = arguments.positions;
  const std::int64_t row = (query.batch * arguments.heads + query.head) * arguments.query_length + query.row;
  const std::int32_t own = positions.queries[row];
  const std::int32_t first = positions.first == nullptr ? 0 : positions.first[row];
  return {first < 0 ? 0 : first, positions.causal ? own : INT32_MAX, positions.not_self ? own : -1};
}

/// Positions of the keys that `query` attends to, from key `first_key` on.
[[gnu::always_inline]] constexpr const std::int32_t* key_positions(const AttentionArguments& arguments,
                                                                   const RowIndex& query,
                                                                   std::int64_t first_key) noexcept {
  const std::int64_t key_head = query.head / (arguments.heads / arguments.key_heads);
  return arguments.positions.keys + (query.batch * arguments.key_heads + key_head) * arguments.key_length + first_key;
}

/// What stands in place of a score: kOwnScore, and NaN where the score is not finite, so that NaN and infinity reach
/// the same rows as without positions.
template <typename Sum>
[[gnu::always_inline]] constexpr Sum own_score(Sum score) noexcept {
  return 0 * score + static_cast<Sum>(kOwnScore);
}

}  // namespace weft::kernels
