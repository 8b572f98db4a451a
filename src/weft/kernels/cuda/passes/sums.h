// SPDX-License-Identifier: Apache-2.0
// The passes that only sum: one query a block, rowsum(dO O), and a distance table's gradient from that of its items.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/decode.h"
#include "weft/kernels/cuda/distance_sums.h"
#include "weft/kernels/cuda/passes/grid.h"
#include "weft/kernels/cuda/row_sums.h"

namespace weft::kernels::cuda {

/// One query a block. Heads that share keys have neighbouring thread blocks, which run at one time: memory gives each
/// number once, and the L2 cache those of the other heads.
template <typename Format>
struct DecodePass {
  static constexpr int kThreads = kDecodeThreads;
  static constexpr int kResident = 5;  // a multiprocessor has the loads of so many thread blocks under way
  static constexpr int kResidentElsewhere = 1;
  static Grid grid(const DeviceCall& call) {
    return {call.rows.most_items * heads_of_key(call.attention), call.attention.batch * call.attention.key_heads, 1};
  }
  static int shared_bytes(const DeviceCall&) { return kDecodeShared<Format>; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const auto shared = static_cast<std::uint32_t>(heads_of_key(call.attention));
    const auto key_heads = static_cast<std::uint32_t>(call.attention.key_heads);
    const Grid of = block_of({shared, call.rows.most_items, 1}, at.x);
    const Grid row = block_of({key_heads, call.attention.batch, 1}, at.y);
    const Place place{static_cast<std::int32_t>(of.y), static_cast<std::int32_t>(row.y),
                      static_cast<std::int32_t>(row.x * shared + of.x), 0, 0};
    const WorkItem item = item_of(call, call.rows, place);
    if (is_there(item)) {
      DecodeBlock<Lanes, Format>(lanes, call, place, item).run();
    }
  }
};

template <typename Format>
struct DeltaPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static constexpr int kRows = kThreads / 2;  // of a thread block
  static Grid grid(const DeviceCall& call) { return {parts_of(call.attention.query_length, kRows), heads_of(call), 1}; }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    static_assert(RowDeltas<Lanes, Format>::kRows == kRows);
    RowDeltas<Lanes, Format>(lanes, call, place_of<Format>(call, at)).sum();
  }
};

template <typename Format>
struct JoinTablePass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) {
    const DistanceTable& table = call.attention.distances;
    return {parts_of(table.rows * table.span, kThreads), call.attention.heads, 1};
  }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    join_tables<Lanes, Format>(lanes, call,
                               {static_cast<std::int32_t>(at.x), 0, static_cast<std::int32_t>(at.y), 0, 0});
  }
};

}  // namespace weft::kernels::cuda
