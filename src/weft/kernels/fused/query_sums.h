// SPDX-License-Identifier: Apache-2.0
// Where query gradients are summed in float32: in the result itself where it is float32 and nobody else writes there,
// else in memory of their own, for just the queries that a range of keys is seen by.
#pragma once

#include <cstdint>
#include <type_traits>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/rows.h"

namespace weft::kernels {

struct QuerySumRow {
  float* data;
  std::int64_t stride;
};

/// Rows of whole vectors for the heads from `first_head` and the queries from `first_query` on.
struct QuerySums {
  float* data;
  std::int64_t head_stride;
  std::int64_t row_stride;
  std::int64_t first_head;
  std::int64_t first_query;

  /// The row `offset` queries after `first`.
  [[gnu::always_inline]] QuerySumRow row(const RowIndex& first, std::int64_t offset) const noexcept {
    return {data + (first.head - first_head) * head_stride + (first.row + offset - first_query) * row_stride,
            row_stride};
  }
};

/// Query blocks [begin, end) that see a block of keys, over the heads that share its key head.
struct QueryExtent {
  std::int64_t begin;
  std::int64_t end;
};

[[gnu::always_inline]] constexpr QueryExtent joined(const QueryExtent& a, const QueryExtent& b) noexcept {
  if (a.begin == a.end || b.begin == b.end) {
    return a.begin == a.end ? b : a;
  }
  return {smaller(a.begin, b.begin), larger(a.end, b.end)};
}

/// `key_block.row` counts blocks.
template <class Isa>
QueryExtent extent_of(const AttentionArguments& arguments, const pattern::TransposeView& transpose,
                      const RowIndex& key_block) noexcept {
  const std::int64_t group = arguments.heads / arguments.key_heads;
  QueryExtent extent{0, 0};
  for (std::int64_t head = key_block.head * group; head < (key_block.head + 1) * group; ++head) {
    const pattern::BlockRange column = transpose.column(arguments.layout, key_block.batch, head, key_block.row);
    if (column.count() > 0) {
      extent = joined(extent, {transpose.query_block[column.begin], transpose.query_block[column.end - 1] + 1});
    }
  }
  return extent;
}

/// Whether sums can stand in the result.
template <class Isa, class Storage>
[[gnu::always_inline]] inline bool sums_in_place(const AttentionArguments& arguments) noexcept {
  return std::is_same_v<typename Storage::Memory, float> && arguments.head_dim % Isa::kLanes == 0;
}

/// Sums in memory of their own, zero at first.
template <class Isa>
class OwnQuerySums {
 public:
  /// For `heads` heads from `first_head` on.
  OwnQuerySums(const AttentionArguments& arguments, const QueryExtent& extent, std::int64_t first_head,
               std::int64_t heads) noexcept
      : first_(extent.begin * arguments.layout.tile_query),
        end_(smaller(extent.end * arguments.layout.tile_query, arguments.query_length)),
        width_(round_up(arguments.head_dim, Isa::kLanes)),
        first_head_(first_head),
        memory_(heads * rows() * width_) {
    if (memory_.is_there()) {
      __builtin_memset(memory_.data(), 0, static_cast<std::size_t>(heads * rows() * width_) * sizeof(float));
    }
  }

  bool is_there() const noexcept { return memory_.is_there(); }
  QuerySums sums() const noexcept { return {memory_.data(), rows() * width_, width_, first_head_, first_}; }
  /// The sums of one query, or null where no key of the range is seen by it.
  const float* find(std::int64_t head, std::int64_t query) const noexcept {
    return query < first_ || query >= end_ ? nullptr
                                           : memory_.data() + ((head - first_head_) * rows() + query - first_) * width_;
  }

 private:
  std::int64_t rows() const noexcept { return end_ > first_ ? end_ - first_ : 0; }

  std::int64_t first_;
  std::int64_t end_;
  std::int64_t width_;
  std::int64_t first_head_;
  Buffer<Isa, float> memory_;
};

}  // namespace weft::kernels
