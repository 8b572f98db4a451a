// SPDX-License-Identifier: Apache-2.0
// Each kernel as a type: how many thread blocks it has, how much shared memory each needs, and what one of them does.
// Whoever launches them, on a GPU or in a test, takes them in the order of run_forward() and run_backward(). A walk
// over blocks of the layout is two kernels: a hot one, which notes where it met what is not finite, and a careful one.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/backward_keys.h"
#include "weft/kernels/cuda/backward_queries.h"
#include "weft/kernels/cuda/decode.h"
#include "weft/kernels/cuda/forward.h"
#include "weft/kernels/cuda/forward_ahead.h"
#include "weft/kernels/cuda/gradients_ahead.h"
#include "weft/kernels/cuda/row_sums.h"

namespace weft::kernels::cuda {

/// Numbers of thread blocks, and the place of one among them.
struct Grid {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t z = 0;
};

template <typename Format>
inline constexpr int kPartsOfBlock = kSliceRows / Format::kOwnRows;

/// The place of a thread block: x is an item, y a head of a member of the batch, z a chunk and a part.
template <typename Format>
WEFT_DEVICE Place place_of(const DeviceCall& call, const Grid& at) {
  const auto heads = static_cast<std::int32_t>(call.attention.heads);
  const auto row = static_cast<std::int32_t>(at.y);
  return {static_cast<std::int32_t>(at.x), row / heads, row % heads, static_cast<int>(at.z) / kPartsOfBlock<Format>,
          static_cast<int>(at.z) % kPartsOfBlock<Format>};
}

/// The same of a walk over the items of a list. kIsOrdered: it begins with the parts of long rows of all heads, which
/// takes registers.
template <typename Format, bool kIsOrdered>
WEFT_DEVICE Place walk_place(const DeviceCall& call, const WorkList& list, const Grid& at) {
  if (!kIsOrdered || list.long_items == 0) {
    return place_of<Format>(call, at);
  }
  const std::int64_t heads = call.attention.batch * call.attention.heads;
  const std::int64_t others = list.most_items - list.long_items;
  const std::int64_t block = at.y * list.most_items + at.x;
  const std::int64_t behind = block - list.long_items * heads;
  return place_of<Format>(call, behind < 0 ? Grid{block / heads, block % heads, at.z}
                                           : Grid{list.long_items + behind % others, behind / others, at.z});
}
/// The same in fewer instructions.
template <typename Format>
WEFT_DEVICE Place plain_walk_place(const DeviceCall& call, const WorkList& list, const Grid& at) {
  if (list.long_items == 0) {
    return place_of<Format>(call, at);
  }
  // 32 bits: a division of 64 takes a hundred instructions, and each of these blocks has 64 rows in memory.
  const auto heads = static_cast<std::uint32_t>(call.attention.batch * call.attention.heads);
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

WEFT_DEVICE bool has_join(const WorkList& list, std::int64_t group, std::int64_t item) {
  return item < list.join_begin[group + 1] - list.join_begin[group];
}

constexpr std::int64_t heads_of(const DeviceCall& call) { return call.attention.batch * call.attention.heads; }
constexpr std::int64_t parts_of(std::int64_t count, std::int64_t part) { return (count + part - 1) / part; }

/// A word of padding for each block of keys.
struct KeepPass {
  static constexpr int kThreads = 32;
  static Grid grid(const DeviceCall& call) {
    return {parts_of(call.attention.layout.key_blocks, kThreads), call.attention.batch, 1};
  }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    lanes.run([&](int thread) {
      const AttentionArguments& arguments = call.attention;
      const std::int64_t key_block = at.x * kThreads + thread;
      if (key_block >= arguments.layout.key_blocks) {
        return;
      }
      std::uint64_t word = 0;
      for (std::int64_t key = 0; key < kSliceRows && key_block * kSliceRows + key < arguments.key_length; ++key) {
        const bool is_kept = arguments.key_keep[at.y * arguments.key_length + key_block * kSliceRows + key] != 0;
        word |= std::uint64_t{is_kept ? 1U : 0U} << key;
      }
      call.made_keep_words[at.y * arguments.layout.key_blocks + key_block] = word;
    });
  }
};

WEFT_DEVICE bool is_there(const WorkItem& item) { return item.begin <= item.end; }

/// The walk over blocks of keys. On lanes that have products of slices only: kIsPlain, of calls that are; kHasDraws, of
/// those without terms but dropout.
template <typename Format, int kSlices, bool kHasTerms, bool kIsPlain = false, bool kHasDraws = false>
struct ForwardWalk {
  static constexpr int kThreads = cuda::kThreads<Format>;
  /// Thread blocks that a multiprocessor holds: three have 168 registers a thread, four 128.
  static constexpr int kResident = kIsHalf<Format> && !kHasTerms ? 3 + (kIsPlain ? 1 : 0) - (kHasDraws ? 1 : 0) : 1;
  /// Whether scores are made ahead, on lanes that have products of slices.
  static constexpr bool kMayGoAhead = kIsHalf<Format> && !kHasTerms;
  static constexpr int kResidentElsewhere = kResident;
  static constexpr Grid grid(const DeviceCall& call) {
    const std::int64_t chunks = parts_of(call.attention.value_dim, Format::kColumns * kSlices);
    return {call.rows.most_items, heads_of(call), chunks * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) {
    return static_cast<int>(cuda::shared_bytes<Format>(slices_of<Format>(call.attention.head_dim)));
  }
  /// Whether the block must run again, carefully.
  template <bool kCareful, typename Lanes>
  static WEFT_DEVICE bool block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    constexpr bool kIsOrdered = kMayGoAhead || kCareful;
    const Place place =
        kIsPlain ? plain_walk_place<Format>(call, call.rows, at) : walk_place<Format, kIsOrdered>(call, call.rows, at);
    const WorkItem item = kIsPlain ? item_at_once<Lanes>(call, call.rows, place) : item_of(call, call.rows, place);
    if constexpr (Lanes::kHasSliceProducts && kMayGoAhead && !kCareful) {
      return is_there(item) && ForwardAheadBlock<Lanes, Format, kIsPlain, kHasDraws>(lanes, call, place, item).run();
    } else if constexpr (kIsPlain || kHasDraws) {
      return false;  // nobody launches it
    } else {
      return is_there(item) && ForwardBlock < Lanes, Format, kSlices, kHasTerms || kCareful,
             kCareful > (lanes, call, place, item).run();
    }
  }
};

/// All thread blocks of a walk, which leave a flag each.
template <typename Walk>
struct HotPass {
  static constexpr int kThreads = Walk::kThreads;
  static constexpr int kResident = Walk::kResident;
  static constexpr int kResidentElsewhere = Walk::kResidentElsewhere;
  static constexpr bool kMayGoAhead = Walk::kMayGoAhead;
  static Grid grid(const DeviceCall& call) { return Walk::grid(call); }
  static int shared_bytes(const DeviceCall& call) { return Walk::shared_bytes(call); }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Grid grid = Walk::grid(call);
    const bool is_lost = Walk::template block<false>(lanes, call, at);
    lanes.run([&](int thread) {
      if (thread == 0) {
        call.lost[(at.z * grid.y + at.y) * grid.x + at.x] = is_lost ? 1 : 0;
      }
    });
  }
};

/// Those of them again whose flags are set, carefully: a few thread blocks look at all flags. It takes calls with terms
/// and without.
template <typename Walk>
struct CarefulPass {
  static constexpr int kThreads = Walk::kThreads;
  static constexpr std::int64_t kBlocks = 256;
  static constexpr std::int64_t flags(const DeviceCall& call) {
    const Grid grid = Walk::grid(call);
    return grid.x * grid.y * grid.z;
  }
  static Grid grid(const DeviceCall& call) {
    const std::int64_t blocks = parts_of(flags(call), kThreads);
    return {blocks < kBlocks ? blocks : kBlocks, 1, 1};
  }
  static int shared_bytes(const DeviceCall& call) { return Walk::shared_bytes(call); }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    WEFT_DEVICE_LOOP
    for (std::int64_t first = at.x * kThreads; first < flags(call); first += kBlocks * kThreads) {
      const std::int64_t end = first + kThreads < flags(call) ? first + kThreads : flags(call);
      typename Lanes::template Each<bool> is_lost;
      lanes.run([&](int thread) { is_lost[thread] = first + thread < end && call.lost[first + thread] != 0; });
      if (lanes.any(is_lost)) {
        run_again(lanes, call, first, end);
      }
    }
  }

 private:
  template <typename Lanes>
  static WEFT_DEVICE void run_again(Lanes& lanes, const DeviceCall& call, std::int64_t first, std::int64_t end) {
    const Grid grid = Walk::grid(call);
    WEFT_DEVICE_LOOP
    for (std::int64_t of = first; of < end; ++of) {
      if (call.lost[of] != 0) {
        Walk::template block<true>(lanes, call, {of % grid.x, of / grid.x % grid.y, of / grid.x / grid.y});
        lanes.barrier();
      }
    }
  }
};

/// One query a block.
template <typename Format>
struct DecodePass {
  static constexpr int kThreads = kDecodeThreads;
  static Grid grid(const DeviceCall& call) { return {call.rows.most_items, heads_of(call), 1}; }
  static int shared_bytes(const DeviceCall&) { return kDecodeShared<Format>; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Place place = place_of<Format>(call, at);
    const WorkItem item = item_of(call, call.rows, place);
    if (is_there(item)) {
      DecodeBlock<Lanes, Format>(lanes, call, place, item).run();
    }
  }
};

/// Joins the parts of a long row: kIsGradient of its gradient, else of its output. z is some of its rows.
template <typename Format, bool kIsGradient>
struct JoinRowPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) {
    return {call.rows.most_joins, heads_of(call), parts_of(call.attention.layout.tile_query, kJoinedRows)};
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
template <typename Format>
using JoinQueryGradientPass = JoinRowPass<Format, true>;

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

/// Slices of the two tiles that a block of the backward pass owns.
template <typename Format>
constexpr int backward_slices(const DeviceCall& call) {
  return slices_of<Format>(call.attention.head_dim) + slices_of<Format>(call.attention.value_dim);
}

/// The same walk, for gradients of queries; kIsTable: for that of a distance table, which must be asked for. kIsNarrow:
/// a call without terms but dropout has narrow heads, which have a way of their own where lanes have products of
/// slices; kIsPlain: and its slices are whole.
template <typename Format, bool kHasTerms, bool kIsTable, bool kIsNarrow = false, bool kIsPlain = false>
struct QueryGradientWalk {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static constexpr int kResident = kIsPlain ? 4 : (kIsHalf<Format> && (kIsNarrow || (!kHasTerms && !kIsTable)) ? 3 : 1);
  static constexpr int kResidentElsewhere = 1;
  static constexpr bool kMayGoAhead = kIsNarrow;
  static constexpr Grid grid(const DeviceCall& call) {
    const std::int64_t chunks = kIsTable ? 1 : slices_of<Format>(call.attention.head_dim);
    return {call.rows.most_items, heads_of(call), chunks * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) { return cuda::shared_bytes<Format>(backward_slices<Format>(call)); }
  template <bool kCareful, typename Lanes>
  static WEFT_DEVICE bool block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    constexpr bool kIsOrdered = kMayGoAhead || kCareful;
    const Place place = walk_place<Format, kIsOrdered>(call, call.rows, at);
    const WorkItem item = item_of(call, call.rows, place);
    if constexpr (Lanes::kHasSliceProducts && kMayGoAhead && !kCareful) {
      return is_there(item) &&
             GradientAheadBlock<Lanes, Format, true, kHasTerms, kIsPlain>(lanes, call, place, item).run();
    } else if constexpr (kIsNarrow) {
      return false;  // nobody launches it
    } else {
      return is_there(item) && QueryGradientBlock < Lanes, Format, kHasTerms || kCareful, kIsTable,
             kCareful > (lanes, call, place, item).run();
    }
  }
};

/// The walk over blocks of queries.
template <typename Format, bool kHasTerms, bool kIsNarrow = false, bool kIsPlain = false>
struct KeyGradientWalk {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static constexpr int kResident = kIsHalf<Format> && !kHasTerms ? 3 : (kIsNarrow ? 2 : 1);
  static constexpr int kResidentElsewhere = 1;
  static constexpr bool kMayGoAhead = kIsNarrow;
  static constexpr Grid grid(const DeviceCall& call) {
    const std::int64_t keys = slices_of<Format>(call.attention.head_dim);
    const std::int64_t values = slices_of<Format>(call.attention.value_dim);
    return {call.columns.most_items, heads_of(call), (keys > values ? keys : values) * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) {
    return cuda::shared_bytes<Format>(backward_slices<Format>(call)) + kStateBytes;
  }
  template <bool kCareful, typename Lanes>
  static WEFT_DEVICE bool block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    constexpr bool kIsOrdered = kMayGoAhead || kCareful;
    const Place place = walk_place<Format, kIsOrdered>(call, call.columns, at);
    const WorkItem item = item_of(call, call.columns, place);
    if constexpr (Lanes::kHasSliceProducts && kMayGoAhead && !kCareful) {
      return is_there(item) &&
             GradientAheadBlock<Lanes, Format, false, kHasTerms, kIsPlain>(lanes, call, place, item).run();
    } else if constexpr (kIsNarrow) {
      return false;  // nobody launches it
    } else {
      return is_there(item) && KeyGradientBlock < Lanes, Format, kHasTerms || kCareful,
             kCareful > (lanes, call, place, item).run();
    }
  }
};

/// z is some rows of keys, then of values; y a head of keys.
template <typename Format>
struct JoinKeyGradientPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) {
    return {call.columns.most_joins, call.attention.batch * call.attention.key_heads, 2 * kRowParts};
  }
  static int shared_bytes(const DeviceCall&) { return 0; }
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

/// Whether scores are more than products: distances, positions, log multiplicities. Where nothing is added to scores
/// they are scaled by a positive number when their greatest is known.
inline bool has_score_terms(const DeviceCall& call) {
  return !(call.attention.scale > 0) || call.attention.distances.scores != nullptr || has_positions(call.attention) ||
         call.has_weights;
}
/// Whether kernels must look at more than bits: these, or dropout.
inline bool has_terms(const DeviceCall& call) { return has_score_terms(call) || call.draws.is_on; }

template <typename Launcher>
void make_keep_words(Launcher& launcher, const DeviceCall& call) {
  if (call.keep_words != nullptr) {
    launcher.template launch<KeepPass>(call);
  }
}

/// A walk, hot and then carefully, in one order. `General` is the walk with terms.
template <typename Walk, typename General, typename Launcher>
void run_walk(Launcher& launcher, const DeviceCall& call) {
  DeviceCall ordered = call;
  if constexpr (!Walk::kMayGoAhead) {
    ordered.rows.long_items = 0;
    ordered.columns.long_items = 0;
  }
  launcher.template launch<HotPass<Walk>>(ordered);
  launcher.template launch<CarefulPass<General>>(ordered);
}

template <typename Format, typename Launcher>
bool goes_plainly(const Launcher& launcher, const DeviceCall& call) {
  if constexpr (kIsHalf<Format>) {
    return launcher.has_slice_products() && is_plain<Format>(call);
  }
  return false;
}
template <typename Format, typename General, bool kIsPlain, bool kHasDraws, typename Launcher>
void run_walk_ahead(Launcher& launcher, const DeviceCall& call) {
  if constexpr (kIsHalf<Format>) {
    run_walk<ForwardWalk<Format, kForwardSlices<Format>, false, kIsPlain, kHasDraws>, General>(launcher, call);
  }
}

/// launcher.template launch<Pass>(call) runs all thread blocks of a pass, one pass behind the other.
template <typename Format, typename Launcher>
void run_forward(Launcher& launcher, const DeviceCall& call) {
  constexpr int kSlices = kForwardSlices<Format>;
  using General = ForwardWalk<ExactFormat<Format>, kSlices, true>;
  make_keep_words(launcher, call);
  const bool is_plain_here = goes_plainly<Format>(launcher, call);
  if (kIsHalf<Format> && launcher.has_slice_products() && call.draws.is_on && !has_score_terms(call)) {
    if (is_plain_here) {
      run_walk_ahead<Format, General, true, true>(launcher, call);
    } else {
      run_walk_ahead<Format, General, false, true>(launcher, call);
    }
  } else if (has_terms(call)) {
    run_walk<ForwardWalk<Format, kSlices, true>, General>(launcher, call);
  } else if (is_plain_here) {
    run_walk_ahead<Format, General, true, false>(launcher, call);
  } else {
    run_walk<ForwardWalk<Format, kSlices, false>, General>(launcher, call);
  }
  if (call.rows.most_joins > 0) {
    launcher.template launch<JoinForwardPass<ExactFormat<Format>>>(call);
  }
}

/// The same of calls whose blocks have one query, in parts of at most kLongestDecodePart blocks, without dropout.
template <typename Format, typename Launcher>
void run_decode(Launcher& launcher, const DeviceCall& call) {
  make_keep_words(launcher, call);
  launcher.template launch<DecodePass<ExactFormat<Format>>>(call);
  if (call.rows.most_joins > 0) {
    launcher.template launch<JoinForwardPass<ExactFormat<Format>>>(call);
  }
}

template <typename Format, bool kHasTerms, bool kIsNarrow, bool kIsPlain, typename Launcher>
void run_gradients(Launcher& launcher, const DeviceCall& call) {
  using Exact = ExactFormat<Format>;
  launcher.template launch<DeltaPass<Exact>>(call);
  run_walk<QueryGradientWalk<Format, kHasTerms, false, kIsNarrow, kIsPlain>, QueryGradientWalk<Exact, true, false>>(
      launcher, call);
  if (call.rows.most_joins > 0) {
    launcher.template launch<JoinQueryGradientPass<Exact>>(call);
  }
  run_walk<KeyGradientWalk<Format, kHasTerms, kIsNarrow, kIsPlain>, KeyGradientWalk<Exact, true>>(launcher, call);
  if (call.columns.most_joins > 0) {
    launcher.template launch<JoinKeyGradientPass<Exact>>(call);
  }
  if (call.gradients.distance_gradient != nullptr) {
    run_walk<QueryGradientWalk<Format, true, true>, QueryGradientWalk<Exact, true, true>>(launcher, call);
    launcher.template launch<JoinTablePass<Exact>>(call);
  }
}

template <typename Format, typename Launcher>
void run_backward(Launcher& launcher, const DeviceCall& call) {
  make_keep_words(launcher, call);
  constexpr bool kMayBeNarrow = kIsHalf<Format>;
  const bool is_narrow =
      kMayBeNarrow && launcher.has_slice_products() && has_narrow_heads<Format>(call) && !has_score_terms(call);
  if (is_narrow && call.draws.is_on) {
    run_gradients<Format, true, kMayBeNarrow, false>(launcher, call);
  } else if (is_narrow && is_plain<Format>(call)) {
    run_gradients<Format, false, kMayBeNarrow, kMayBeNarrow>(launcher, call);
  } else if (is_narrow) {
    run_gradients<Format, false, kMayBeNarrow, false>(launcher, call);
  } else if (has_terms(call)) {
    run_gradients<Format, true, false, false>(launcher, call);
  } else {
    run_gradients<Format, false, false, false>(launcher, call);
  }
}

}  // namespace weft::kernels::cuda
