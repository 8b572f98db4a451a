// SPDX-License-Identifier: Apache-2.0
// A BlockLayout as plain pointers, the form that kernels read. No STL container here, and nothing that is
// not always_inline: files compiled for one instruction set include this header.
#pragma once

#include <cstdint>

namespace weft::pattern {

/// Block kinds: every key of the block is an edge for every query of it (inside the lengths).
inline constexpr std::int32_t kFullBlock = -1;

[[gnu::always_inline]] constexpr bool is_full(std::int32_t kind) noexcept { return kind == kFullBlock; }
[[gnu::always_inline]] constexpr bool is_partial(std::int32_t kind) noexcept { return kind >= 0; }
[[gnu::always_inline]] constexpr bool is_weighted(std::int32_t kind) noexcept { return kind <= -2; }
[[gnu::always_inline]] constexpr std::int32_t weight_index(std::int32_t kind) noexcept { return -2 - kind; }
[[gnu::always_inline]] constexpr std::int32_t weighted_kind(std::int32_t index) noexcept { return -2 - index; }

/// Indices [begin, end) into the block arrays of a layout or its transpose.
struct BlockRange {
  std::int64_t begin;
  std::int64_t end;

  [[gnu::always_inline]] constexpr std::int64_t count() const noexcept { return end - begin; }
};

/// See BlockLayout for the meaning and shape of each array. A full block at the end of the keys is full for the keys
/// that exist.
struct LayoutView {
  std::int32_t tile_query;
  std::int32_t tile_key;
  std::int64_t query_length;
  std::int64_t key_length;
  std::int64_t query_blocks;
  std::int64_t key_blocks;
  std::int64_t heads;
  std::int64_t batch;  ///< 1 when one row serves the whole batch
  const std::int32_t* group;
  const std::int64_t* row_begin;
  const std::int32_t* key_block;
  const std::int32_t* kind;
  const std::uint64_t* mask_bits;
  const float* log_weight;

  [[gnu::always_inline]] constexpr std::int64_t words() const noexcept { return (tile_key + 63) / 64; }
  [[gnu::always_inline]] constexpr std::int64_t group_of(std::int64_t row, std::int64_t head) const noexcept {
    return group[(batch == 1 ? 0 : row) * heads + head];
  }
  /// The blocks that a block of queries sees.
  [[gnu::always_inline]] constexpr BlockRange row(std::int64_t batch_row, std::int64_t head,
                                                  std::int64_t query_block) const noexcept {
    const std::int64_t* at = row_begin + group_of(batch_row, head) * query_blocks + query_block;
    return {at[0], at[1]};
  }
  /// Mask words of a partial block: [tile_query][words].
  [[gnu::always_inline]] constexpr const std::uint64_t* mask(std::int32_t kind_of_block) const noexcept {
    return mask_bits + std::int64_t{kind_of_block} * tile_query * words();
  }
  /// Log multiplicities of a weighted block: [tile_query][tile_key].
  [[gnu::always_inline]] constexpr const float* weight(std::int32_t kind_of_block) const noexcept {
    return log_weight + std::int64_t{weight_index(kind_of_block)} * tile_query * tile_key;
  }
};

struct TransposeView {
  const std::int64_t* column_begin;
  const std::int32_t* query_block;
  const std::int64_t* block;

  /// Those that see a block of keys.
  [[gnu::always_inline]] constexpr BlockRange column(const LayoutView& layout, std::int64_t batch_row,
                                                     std::int64_t head, std::int64_t key_block) const noexcept {
    const std::int64_t* at = column_begin + layout.group_of(batch_row, head) * layout.key_blocks + key_block;
    return {at[0], at[1]};
  }
};

}  // namespace weft::pattern
