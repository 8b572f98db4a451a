// SPDX-License-Identifier: Apache-2.0
// Where query gradients are summed in float32: in the result itself where it is float32 and nobody else writes there,
// else in memory of their own, for just the queries that several ranges of keys are seen by.
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
struct QuerySumRows {
  float* data;
  std::int64_t head_stride;
  std::int64_t row_stride;
  std::int64_t first_head;
  std::int64_t first_query;

  [[gnu::always_inline]] QuerySumRow row(std::int64_t head, std::int64_t query) const noexcept {
    return {data + (head - first_head) * head_stride + (query - first_query) * row_stride, row_stride};
  }
};

/// Queries [begin, end).
struct QueryRange {
  std::int64_t begin;
  std::int64_t end;

  [[gnu::always_inline]] bool has(std::int64_t query) const noexcept { return query >= begin && query < end; }
  [[gnu::always_inline]] std::int64_t count() const noexcept { return end > begin ? end - begin : 0; }
};

/// Where a range of keys adds to query gradients: in the result for queries that no other range is seen by, else in
/// memory of its own, which has no rows for those.
struct QuerySums {
  QuerySumRows own;
  QuerySumRows result;
  QueryRange in_result;

  /// The row `offset` queries after `first`; blocks of queries lie on one side.
  [[gnu::always_inline]] QuerySumRow row(const RowIndex& first, std::int64_t offset) const noexcept {
    const std::int64_t query = first.row + offset;
    if (in_result.has(query)) {
      return result.row(first.head, query);
    }
    return own.row(first.head, query < in_result.begin ? query : query - in_result.count());
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

/// The part of extents[mine] that none of the other extents reaches into from either side.
[[gnu::always_inline]] inline QueryExtent apart(const QueryExtent* extents, std::int64_t mine,
                                                std::int64_t count) noexcept {
  QueryExtent alone = extents[mine];
  for (std::int64_t other = 0; other < count; ++other) {
    if (other == mine || extents[other].begin == extents[other].end) {
      continue;
    }
    if (extents[other].begin <= extents[mine].begin) {
      alone.begin = larger(alone.begin, extents[other].end);
    } else {
      alone.end = smaller(alone.end, extents[other].begin);
    }
  }
  return alone.begin < alone.end ? alone : QueryExtent{extents[mine].end, extents[mine].end};
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

/// Sums in memory of their own, zero at first, for the queries of `extent` that are not in `in_result`.
template <class Isa>
class OwnQuerySums {
 public:
  /// For `heads` heads from `first_head` on.
  OwnQuerySums(const AttentionArguments& arguments, const QueryExtent& extent, const QueryExtent& in_result,
               std::int64_t first_head, std::int64_t heads) noexcept
      : seen_(queries_of(arguments, extent)),
        in_result_(queries_of(arguments, in_result)),
        width_(round_up(arguments.head_dim, Isa::kLanes)),
        first_head_(first_head),
        memory_(heads * rows() * width_) {
    if (memory_.is_there()) {
      __builtin_memset(memory_.data(), 0, static_cast<std::size_t>(heads * rows() * width_) * sizeof(float));
    }
  }

  bool is_there() const noexcept { return memory_.is_there(); }
  const QueryRange& in_result() const noexcept { return in_result_; }
  /// `result` is where the rows of the result lie.
  QuerySums sums(const QuerySumRows& result) const noexcept {
    return {{memory_.data(), rows() * width_, width_, first_head_, seen_.begin}, result, in_result_};
  }
  /// The sums of one query, or null where no key of the range is seen by it.
  const float* find(std::int64_t head, std::int64_t query) const noexcept {
    return seen_.has(query) ? sums({}).row({0, head, query}, 0).data : nullptr;
  }

 private:
  static QueryRange queries_of(const AttentionArguments& arguments, const QueryExtent& extent) noexcept {
    const std::int64_t tile = arguments.layout.tile_query;
    return {smaller(extent.begin * tile, arguments.query_length), smaller(extent.end * tile, arguments.query_length)};
  }
  std::int64_t rows() const noexcept { return seen_.count() - in_result_.count(); }

  QueryRange seen_;
  QueryRange in_result_;
  std::int64_t width_;
  std::int64_t first_head_;
  Buffer<Isa, float> memory_;
};

}  // namespace weft::kernels
