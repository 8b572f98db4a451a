// SPDX-License-Identifier: Apache-2.0
// Which of the scores of a block are edges, and what is added to them: stored bits, padding, lengths, log
// multiplicities, distances; and what dropout keeps. A block owns queries or keys and meets blocks of the others.
// Positions of rows are in row_edges.h.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/core/random.h"
#include "weft/kernels/cuda/device_call.h"
#include "weft/kernels/cuda/products.h"
#include "weft/kernels/cuda/slices.h"
#include "weft/kernels/distance_table.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/row_positions.h"

namespace weft::kernels::cuda {

inline constexpr float kLogTwoOfE = 1.44269504F;
inline constexpr float kLogEOfTwo = 0.693147181F;

/// One block of the layout as the threads of a thread block see it; the same for all of them.
struct Met {
  std::int32_t first_query = 0;
  std::int32_t first_key = 0;
  std::uint64_t there = 0;              ///< of the rows that are met: those that exist and are not padded
  std::uint64_t own_there = kAllRows;   ///< of those that are owned, where it matters
  const std::uint64_t* bits = nullptr;  ///< a word for each row that is owned; null: a full block
  const float* weights = nullptr;       ///< log multiplicities [tile_query][64], or null
  bool is_whole = false;                ///< every entry is an edge
};

/// How many heads share a head of keys.
constexpr std::int32_t heads_of_key(const AttentionArguments& arguments) {
  return static_cast<std::int32_t>(arguments.heads) / static_cast<std::int32_t>(arguments.key_heads);
}

/// The head of keys of a head; most often the same, without a division.
WEFT_DEVICE std::int32_t key_head_of(const AttentionArguments& arguments, std::int32_t head) {
  return arguments.heads == arguments.key_heads ? head : head / heads_of_key(arguments);
}

WEFT_DEVICE std::int64_t group_of(const DeviceCall& call, const Place& at) {
  return call.attention.layout.group_of(at.batch, at.head);
}

WEFT_DEVICE bool has_item(const WorkList& list, std::int64_t group, std::int64_t item) {
  return item < list.item_begin[group + 1] - list.item_begin[group];
}
/// What a thread block has that has no item: its end is before its begin.
WEFT_DEVICE WorkItem no_item() { return {1, 0, 0, -1, {}, {}}; }
/// The item of a thread block in a list of work.
WEFT_DEVICE WorkItem item_of(const DeviceCall& call, const WorkList& list, const Place& place) {
  const std::int64_t group = group_of(call, place);
  return has_item(list, group, place.item) ? list.items[list.item_begin[group] + place.item] : no_item();
}

/// The same sooner: reads the item of the first group beside the group of the head, which most often is the first one.
template <typename Lanes>
WEFT_DEVICE WorkItem item_at_once(const DeviceCall& call, const WorkList& list, const Place& place) {
  const WorkItem read = list.items[place.item];
  WorkItem of_first = read;
  of_first.begin = Lanes::forget(read.begin);  // or the compiler reads it where it is used, behind the branch
  of_first.met[0] = Lanes::forget(read.met[0]);
  const int first_end = Lanes::forget(static_cast<int>(list.item_begin[1]));
  if (group_of(call, place) != 0) {
    return item_of(call, list, place);
  }
  return place.item < first_end ? of_first : no_item();
}

/// Keys of a block that exist and are not padded.
WEFT_DEVICE std::uint64_t keys_there(const DeviceCall& call, std::int64_t batch, std::int64_t key_block) {
  const std::uint64_t kept =
      call.keep_words == nullptr ? kAllRows : call.keep_words[batch * call.attention.layout.key_blocks + key_block];
  return kept & first_bits(call.attention.key_length - key_block * kSliceRows);
}
/// The first blocks of keys, so many, are those whose slices PlainCopies takes.
WEFT_DEVICE std::int32_t plain_key_blocks(const DeviceCall& call, int slice_columns) {
  const AttentionArguments& arguments = call.attention;
  const bool has_whole_slices = arguments.head_dim % slice_columns == 0 && arguments.value_dim % slice_columns == 0;
  const bool is_plain = call.is_aligned && call.keep_words == nullptr && has_whole_slices;
  return is_plain ? static_cast<std::int32_t>(arguments.key_length / kSliceRows) : 0;
}
/// Queries of a block that exist.
WEFT_DEVICE std::uint64_t queries_there(const DeviceCall& call, std::int64_t query_block) {
  const std::int64_t tile = call.attention.layout.tile_query;
  const std::int64_t left = call.attention.query_length - query_block * tile;
  return first_bits(left < tile ? left : tile);
}

/// The block at `index` of the block arrays, or of those of the transpose, which a block of queries (of keys) meets.
/// `own_block`: of queries, where they are owned.
template <bool kOwnsQueries>
WEFT_DEVICE Met meet(const DeviceCall& call, const Place& at, std::int32_t own_block, std::int32_t index) {
  const pattern::LayoutView& layout = call.attention.layout;
  const std::int64_t block = kOwnsQueries ? index : call.gradients.transpose.block[index];
  const std::int64_t query_block = kOwnsQueries ? own_block : call.gradients.transpose.query_block[index];
  const std::int64_t key_block = layout.key_block[block];
  const std::int32_t kind = layout.kind[block];
  Met met;
  met.first_query = static_cast<std::int32_t>(query_block * layout.tile_query);
  met.first_key = static_cast<std::int32_t>(key_block) * kSliceRows;
  const std::uint64_t keys = keys_there(call, at.batch, key_block);
  met.there = kOwnsQueries ? keys : queries_there(call, query_block);
  met.own_there = kOwnsQueries ? queries_there(call, query_block) : keys;
  if (!pattern::is_full(kind)) {
    const bool is_weighted = pattern::is_weighted(kind);
    const std::int64_t of = is_weighted ? call.bits.partial + pattern::weight_index(kind) : kind;
    met.bits = (kOwnsQueries ? call.bits.rows : call.bits.columns) + of * kSliceRows;
    met.weights = is_weighted ? layout.weight(kind) : nullptr;
  }
  const bool owns_all = kOwnsQueries || met.own_there == kAllRows;  // what queries beyond the last have is not stored
  met.is_whole = met.bits == nullptr && met.there == kAllRows && owns_all && !has_positions(call.attention);
  return met;
}

/// The query and the key of an entry.
struct Pair {
  std::int64_t query;
  std::int64_t key;
};
template <bool kOwnsQueries>
WEFT_DEVICE Pair pair_of(const Met& met, int own, int other) {
  return {met.first_query + (kOwnsQueries ? own : other), met.first_key + (kOwnsQueries ? other : own)};
}

/// The edges of a row of a block, which counts from the first, without what positions of rows hide.
WEFT_DEVICE std::uint64_t stored_edges(const Met& met, int row) {
  const std::uint64_t word = met.bits == nullptr ? kAllRows : met.bits[row];
  return has_bit(met.own_there, row) ? word & met.there : 0;
}

/// An entry of a block; rows count from the first.
struct Entry {
  int own;
  int other;
  bool is_self;  ///< the key lies at the query's own position, and queries do not attend to themselves
};

/// The score of an edge, from scale * q k.
template <bool kOwnsQueries>
WEFT_DEVICE float edge_score(const DeviceCall& call, const Place& at, const Met& met, const Entry& entry,
                             float product) {
  const Pair pair = pair_of<kOwnsQueries>(met, entry.own, entry.other);
  const float found = product + distance_score<float>(call.attention.distances, at.head, pair.query, pair.key);
  const float score = entry.is_self ? own_score(found) : found;
  return met.weights == nullptr ? score
                                : score + met.weights[kOwnsQueries ? entry.own * kSliceRows + entry.other
                                                                   : entry.other * kSliceRows + entry.own];
}

/// The draw of eight keys: KeyDraws of kernels/dropout.h.
WEFT_DEVICE Philox4 draw_of(const DeviceCall& call, const Place& at, std::int64_t query, std::int64_t key) {
  return philox_rounds<KeyDraws::kRounds>(
      call.draws.key, static_cast<std::uint64_t>(query) << 32 | static_cast<std::uint64_t>(KeyDraws::draw_of(key)),
      static_cast<std::uint64_t>(at.batch) << 32 | static_cast<std::uint64_t>(at.head));
}
/// 0 for a dropped entry.
WEFT_DEVICE float kept_scale(const DeviceCall& call, const Philox4& draw, std::int64_t key) {
  const int word = KeyDraws::word_of(key);  // chosen without an index: an array with one would lie in memory
  const std::uint32_t pair[2] = {(word & 2) == 0 ? draw.value[0] : draw.value[2],
                                 (word & 2) == 0 ? draw.value[1] : draw.value[3]};
  const std::int32_t number = half_of((word & 1) == 0 ? pair[0] : pair[1], KeyDraws::half_of(key));
  return number >= call.draws.threshold ? call.draws.kept_scale : 0.0F;
}

/// What dropout multiplies the entries of a block with: of one row (0 or 1) and tile of a thread, both columns.
template <bool kOwnsQueries>
WEFT_DEVICE void kept_pair(const DeviceCall& call, const Place& at, const Met& met, int own, int other,
                           float (&kept)[2]) {
  if constexpr (kOwnsQueries) {  // both in one draw
    const std::int64_t key = met.first_key + other;
    const Philox4 draw = draw_of(call, at, met.first_query + own, key);
    kept[0] = kept_scale(call, draw, key);
    kept[1] = kept_scale(call, draw, key + 1);
  } else {
    const std::int64_t key = met.first_key + own;
    unroll<2>([&](auto column) {
      kept[column] = kept_scale(call, draw_of(call, at, met.first_query + other + column, key), key);
    });
  }
}

}  // namespace weft::kernels::cuda
