// SPDX-License-Identifier: Apache-2.0
// The thread blocks of a pass, and the place of each in the work of a call.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/edges.h"
#include "weft/kernels/cuda/format.h"

namespace weft::kernels::cuda {

/// Numbers of thread blocks, and the place of one among them.
struct Grid {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t z = 0;
};
constexpr std::int64_t blocks_of(const Grid& grid) { return grid.x * grid.y * grid.z; }

/// Block `number` of a grid, whose x goes first. In 32 bits: a division of 64 takes a hundred instructions.
WEFT_DEVICE Grid block_of(const Grid& grid, std::int64_t number) {
  const auto columns = static_cast<std::uint32_t>(grid.x);
  const auto rows = static_cast<std::uint32_t>(grid.y);
  const std::uint32_t row = static_cast<std::uint32_t>(number) / columns;
  return {static_cast<std::uint32_t>(number) % columns, row % rows, row / rows};
}

template <typename Format>
inline constexpr int kPartsOfBlock = kSliceRows / Format::kOwnRows;

constexpr std::int64_t heads_of(const DeviceCall& call) { return call.attention.batch * call.attention.heads; }
constexpr std::int64_t parts_of(std::int64_t count, std::int64_t part) { return (count + part - 1) / part; }

/// The place of a thread block: x is an item, y a head of a member of the batch, z a chunk and a part.
template <typename Format>
WEFT_DEVICE Place place_of(const DeviceCall& call, const Grid& at) {
  const auto heads = static_cast<std::int32_t>(call.attention.heads);
  const auto row = static_cast<std::int32_t>(at.y);
  return {static_cast<std::int32_t>(at.x), row / heads, row % heads, static_cast<int>(at.z) / kPartsOfBlock<Format>,
          static_cast<int>(at.z) % kPartsOfBlock<Format>};
}

/// The same of a walk over the items of a list. kIsOrdered: it begins with the parts of long rows of all heads.
template <typename Format, bool kIsOrdered>
WEFT_DEVICE Place walk_place(const DeviceCall& call, const WorkList& list, const Grid& at) {
  if (!kIsOrdered || list.long_items == 0) {
    return place_of<Format>(call, at);
  }
  // 32 bits, as above: each of these blocks has 64 rows in memory.
  const auto heads = static_cast<std::uint32_t>(heads_of(call));
  const auto long_items = static_cast<std::uint32_t>(list.long_items);
  const std::uint32_t block =
      static_cast<std::uint32_t>(at.y) * static_cast<std::uint32_t>(list.most_items) + static_cast<std::uint32_t>(at.x);
  const bool is_long = block < long_items * heads;
  const std::uint32_t number = is_long ? block : block - long_items * heads;
  const std::uint32_t each = is_long ? heads : static_cast<std::uint32_t>(list.most_items) - long_items;
  const std::uint32_t whole = number / each;
  const std::uint32_t rest = number - whole * each;
  return place_of<Format>(call, is_long ? Grid{whole, rest, at.z} : Grid{long_items + rest, whole, at.z});
}

WEFT_DEVICE bool is_there(const WorkItem& item) { return item.begin <= item.end; }

}  // namespace weft::kernels::cuda
