// SPDX-License-Identifier: Apache-2.0
// What a kernel is given: the arguments of every attention kernel with addresses of the device, the layout as rows of
// bits in both directions, the work as lists of items, and memory for what long rows leave to be joined.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"

namespace weft::kernels::cuda {

/// A block of queries (or of keys) with the blocks [begin, end) that it meets: all of them, or a part.
struct alignas(16) WorkItem {
  std::int32_t begin;
  std::int32_t end;
  std::int32_t block;
  std::int32_t slot;     ///< where the sums of a part are left; -1: the item is whole, and its results are final
  std::int32_t met[2];   ///< the first two blocks that it meets, which so are known with it; 0: there is none
  std::int32_t kind[2];  ///< of blocks of keys, as the layout has them
};

/// What is joined, in the order of the slots.
struct JoinItem {
  std::int32_t block;
  std::int32_t slot;
  std::int32_t count;
};

/// The work of one direction, for each group of heads that share a layout.
struct WorkList {
  const WorkItem* items = nullptr;           ///< the longest first within a group
  const std::int64_t* item_begin = nullptr;  ///< [groups + 1]
  const JoinItem* joins = nullptr;           ///< of rows that were cut
  const std::int64_t* join_begin = nullptr;  ///< [groups + 1]
  std::int64_t most_items = 0;               ///< of a group
  std::int64_t most_joins = 0;
  std::int64_t slots = 0;  ///< the most of a group: each head of each member of the batch has so many
  /// The most parts of long rows in a group, where they are at most half of the items; else 0. A walk begins with those
  /// of all heads: a part that begins last would be waited for.
  std::int64_t long_items = 0;
};

/// Bits of the layout's blocks that are not full, first the partial ones, then the weighted ones: 64 words each.
struct BlockBits {
  const std::uint64_t* rows = nullptr;     ///< bit k of word q: query q sees key k; zero beyond the tile
  const std::uint64_t* columns = nullptr;  ///< bit q of word k
  std::int64_t partial = 0;                ///< how many are partial
};

/// Sums of items that are parts; a row of a slot is a row of the item's block, of which there are 64, and forwards
/// query_slot_rows(): that number is a register, for which the kernel of dQ has no room.
struct Partials {
  float* maximum = nullptr;  ///< forward: [slots][queries]; -infinity: no edge
  float* sum = nullptr;      ///< forward: [slots][queries]
  float* output = nullptr;   ///< forward: [slots][queries][value_dim], not divided
  float* query = nullptr;    ///< [slots][64][head_dim]
  float* key = nullptr;      ///< [slots][64][head_dim]
  float* value = nullptr;    ///< [slots][64][value_dim]
  float* table = nullptr;    ///< [B][H][items and their parts][rows * span] of a distance table
};

/// Dropout as kernels/dropout.h draws it with DropoutDraws::kSecond, with its numbers made.
struct Draws {
  std::uint64_t key = 0;
  std::int32_t threshold = 0;
  bool is_on = false;
  float kept_scale = 1;
};

struct DeviceCall {
  AttentionArguments attention;  ///< all addresses are the device's
  AttentionGradients gradients;
  BlockBits bits;
  WorkList rows;
  WorkList columns;  ///< indices into gradients.transpose; where heads share keys, all are parts
  const std::uint64_t* keep_words = nullptr;  ///< [B][key blocks]: bit k is key k of the block; null keeps all
  std::uint64_t* made_keep_words = nullptr;   ///< the same memory, for who fills it
  bool has_weights = false;                   ///< the layout has blocks with log multiplicities
  float* delta = nullptr;                     ///< [B, H, Q]: rowsum(dO O)
  Partials partials;
  std::uint8_t* lost = nullptr;  ///< a flag for each thread block of the walks, of which there are at most lost_flags()
  Draws draws;
  bool is_tf32 = false;     ///< float32 may be multiplied with 11 bits
  bool is_aligned = false;  ///< rows of all inputs begin at multiples of 16 bytes
};

/// The most queries of a block, which are the rows of a slot of their sums: one where each text has one query.
constexpr std::int64_t query_slot_rows(const DeviceCall& call) {
  const std::int64_t tile = call.attention.layout.tile_query;
  return call.attention.query_length < tile ? call.attention.query_length : tile;
}

/// The place of a thread block in the work of a kernel.
struct Place {
  std::int32_t item = 0;  ///< among those of the group
  std::int32_t batch = 0;
  std::int32_t head = 0;
  int chunk = 0;  ///< which columns of the results
  int part = 0;   ///< which rows of the block
};

}  // namespace weft::kernels::cuda
