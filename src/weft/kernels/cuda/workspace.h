// SPDX-License-Identifier: Apache-2.0
// The memory that the passes of a call need besides its tensors: how much each array has, for a call whose layout and
// work lists are set. Whoever has memory gives it: room(bytes) returns an address, or null where it only counts.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/device_call.h"
#include "weft/kernels/cuda/format.h"
#include "weft/kernels/cuda/plan.h"

namespace weft::kernels::cuda {

/// Rows of all slots of a direction, over batch and heads.
inline std::int64_t slot_rows(const DeviceCall& call, const WorkList& list, std::int64_t rows) noexcept {
  return call.attention.batch * call.attention.heads * list.slots * rows;
}

template <typename Room>
void take_keep_words(DeviceCall& call, const Room& room) {
  if (call.attention.key_keep != nullptr) {
    const std::int64_t words = call.attention.batch * call.attention.layout.key_blocks;
    call.made_keep_words = static_cast<std::uint64_t*>(room(words * std::int64_t{sizeof(std::uint64_t)}));
    call.keep_words = call.made_keep_words;
  }
}

/// What hot kernels leave for careful ones.
template <typename Room>
void take_flags(DeviceCall& call, const Room& room) {
  call.lost = static_cast<std::uint8_t*>(room(lost_flags(call)));
}

/// For run_forward() and run_decode().
template <typename Room>
void take_forward_room(DeviceCall& call, const Room& room) {
  const auto floats = [&room](std::int64_t count) {
    return static_cast<float*>(room(count * std::int64_t{sizeof(float)}));
  };
  take_keep_words(call, room);
  take_flags(call, room);
  const std::int64_t rows = slot_rows(call, call.rows, query_slot_rows(call));
  call.partials.maximum = floats(rows);
  call.partials.sum = floats(rows);
  call.partials.output = floats(rows * call.attention.value_dim);
}

/// For run_backward(); gradients are set, too.
template <typename Room>
void take_backward_room(DeviceCall& call, const Room& room) {
  const auto floats = [&room](std::int64_t count) {
    return static_cast<float*>(room(count * std::int64_t{sizeof(float)}));
  };
  const AttentionArguments& arguments = call.attention;
  const std::int64_t heads = arguments.batch * arguments.heads;
  take_keep_words(call, room);
  take_flags(call, room);
  call.delta = floats(heads * arguments.query_length);
  const std::int64_t keys = slot_rows(call, call.columns, kSliceRows);
  call.partials.query = floats(slot_rows(call, call.rows, kSliceRows) * arguments.head_dim);
  call.partials.key = floats(keys * arguments.head_dim);
  call.partials.value = floats(keys * arguments.value_dim);
  if (call.gradients.distance_gradient != nullptr) {
    // Float32 has two thread blocks an item.
    const std::int64_t tables = heads * call.rows.most_items * (kSliceRows / Float32Format::kOwnRows);
    call.partials.table = floats(tables * arguments.distances.rows * arguments.distances.span);
  }
}

}  // namespace weft::kernels::cuda
