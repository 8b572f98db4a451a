// SPDX-License-Identifier: Apache-2.0
// The passes that join what the parts of long rows and columns left, in the order of the parts.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/passes/grid.h"
#include "weft/kernels/cuda/row_sums.h"

namespace weft::kernels::cuda {

WEFT_DEVICE bool has_join(const WorkList& list, std::int64_t group, std::int64_t item) {
  return item < list.join_begin[group + 1] - list.join_begin[group];
}

/// The parts of a long row: kIsGradient of its gradient, else of its output. z is some of its rows.
template <typename Format, bool kIsGradient>
struct JoinRowPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static constexpr Grid grid(const DeviceCall& call) {
    const std::int64_t rows = kIsGradient ? kSliceRows : query_slot_rows(call);
    return {call.rows.most_joins, heads_of(call), parts_of(rows, kJoinedRows)};
  }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Place place = place_of<Format>(call, {at.x, at.y, 0});
    const std::int64_t group = group_of(call, place);
    const int first_row = static_cast<int>(at.z) * kJoinedRows;
    if (!has_join(call.rows, group, place.item)) {
      return;
    }
    const JoinItem item = call.rows.joins[call.rows.join_begin[group] + place.item];
    if constexpr (kIsGradient) {
      join_query_gradients<Lanes, Format>(lanes, call, place, item, first_row);
    } else {
      JoinedOutput<Lanes, Format>(call, place, item).join(lanes, first_row);
    }
  }
};
template <typename Format>
using JoinForwardPass = JoinRowPass<Format, false>;

/// The parts of a long column, and heads that share keys. z is some rows of keys, then of values; y a head of keys.
template <typename Format>
struct JoinKeyGradientPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static constexpr Grid grid(const DeviceCall& call) {
    return {call.columns.most_joins, call.attention.batch * call.attention.key_heads, 2 * kRowParts};
  }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const AttentionArguments& arguments = call.attention;
    const auto key_heads = static_cast<std::int32_t>(arguments.key_heads);
    const auto row = static_cast<std::int32_t>(at.y);
    const Place place{static_cast<std::int32_t>(at.x), row / key_heads, row % key_heads, 0, 0};
    const std::int32_t first_head = place.head * heads_of_key(arguments);
    if (!has_join(call.columns, group_of(call, {0, place.batch, first_head, 0, 0}), place.item)) {
      return;
    }
    const int first_row = static_cast<int>(at.z) % kRowParts * kJoinedRows;
    if (at.z < kRowParts) {
      join_key_gradients<Lanes, Format>(
          lanes, call, place,
          {call.partials.key, call.gradients.key_gradient, arguments.head_dim, static_cast<float>(arguments.scale)},
          first_row);
    } else {
      join_key_gradients<Lanes, Format>(
          lanes, call, place, {call.partials.value, call.gradients.value_gradient, arguments.value_dim, 1}, first_row);
    }
  }

 private:
  static constexpr int kRowParts = kSliceRows / kJoinedRows;
};

/// All that the backward pass joins: rows of dQ, then columns of dK and dV.
template <typename Format>
struct JoinGradientsPass {
  using Rows = JoinRowPass<Format, true>;
  using Columns = JoinKeyGradientPass<Format>;
  static constexpr int kThreads = cuda::kThreads<Format>;
  static constexpr Grid grid(const DeviceCall& call) {
    return {blocks_of(Rows::grid(call)) + blocks_of(Columns::grid(call)), 1, 1};
  }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const std::int64_t rows = blocks_of(Rows::grid(call));
    if (at.x < rows) {
      Rows::block(lanes, call, block_of(Rows::grid(call), at.x));
    } else {
      Columns::block(lanes, call, block_of(Columns::grid(call), at.x - rows));
    }
  }
};

}  // namespace weft::kernels::cuda
