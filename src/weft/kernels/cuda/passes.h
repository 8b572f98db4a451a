// SPDX-License-Identifier: Apache-2.0
// Each kernel as a type: how many thread blocks it has, how much shared memory each needs, and what one of them does.
// Whoever launches them, on a GPU or in a test, takes them in the order of run_forward() and run_backward().
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/backward_keys.h"
#include "weft/kernels/cuda/backward_queries.h"
#include "weft/kernels/cuda/forward.h"

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
  const std::int64_t heads = call.attention.heads;
  return {at.x, at.y / heads, at.y % heads, static_cast<int>(at.z / kPartsOfBlock<Format>),
          static_cast<int>(at.z % kPartsOfBlock<Format>)};
}

WEFT_DEVICE bool has_item(const WorkList& list, std::int64_t group, std::int64_t item) {
  return item < list.item_begin[group + 1] - list.item_begin[group];
}
WEFT_DEVICE bool has_join(const WorkList& list, std::int64_t group, std::int64_t item) {
  return item < list.join_begin[group + 1] - list.join_begin[group];
}

inline std::int64_t heads_of(const DeviceCall& call) { return call.attention.batch * call.attention.heads; }
inline std::int64_t parts_of(std::int64_t count, std::int64_t part) { return (count + part - 1) / part; }

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

template <typename Format, int kSlices, bool kHasTerms>
struct ForwardPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) {
    const std::int64_t chunks = parts_of(call.attention.value_dim, Format::kColumns * kSlices);
    return {call.rows.most_items, heads_of(call), chunks * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) {
    return static_cast<int>(cuda::shared_bytes<Format>(slices_of<Format>(call.attention.head_dim)));
  }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Place place = place_of<Format>(call, at);
    const std::int64_t group = group_of(call, place);
    if (has_item(call.rows, group, place.item)) {
      const WorkItem item = call.rows.items[call.rows.item_begin[group] + place.item];
      ForwardBlock<Lanes, Format, kSlices, kHasTerms>(lanes, call, place, item).run();
    }
  }
};

template <typename Format>
struct JoinForwardPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) { return {call.rows.most_joins, heads_of(call), 1}; }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Place place = place_of<Format>(call, at);
    const std::int64_t group = group_of(call, place);
    if (has_join(call.rows, group, place.item)) {
      join_forward<Lanes, Format>(lanes, call, place, call.rows.joins[call.rows.join_begin[group] + place.item]);
    }
  }
};

template <typename Format>
struct DeltaPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) {
    return {parts_of(call.attention.query_length, kThreads), heads_of(call), 1};
  }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    sum_deltas<Lanes, Format>(lanes, call, place_of<Format>(call, at));
  }
};

/// Slices of the two tiles that a block of the backward pass owns.
template <typename Format>
constexpr int backward_slices(const DeviceCall& call) {
  return slices_of<Format>(call.attention.head_dim) + slices_of<Format>(call.attention.value_dim);
}

template <typename Format, bool kHasTerms>
struct QueryGradientPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) {
    return {call.rows.most_items, heads_of(call),
            std::int64_t{slices_of<Format>(call.attention.head_dim)} * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) { return cuda::shared_bytes<Format>(backward_slices<Format>(call)); }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Place place = place_of<Format>(call, at);
    const std::int64_t group = group_of(call, place);
    if (has_item(call.rows, group, place.item)) {
      const WorkItem item = call.rows.items[call.rows.item_begin[group] + place.item];
      QueryGradientBlock<Lanes, Format, kHasTerms>(lanes, call, place, item).run();
    }
  }
};

template <typename Format>
struct JoinQueryGradientPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) { return {call.rows.most_joins, heads_of(call), 1}; }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Place place = place_of<Format>(call, at);
    const std::int64_t group = group_of(call, place);
    if (has_join(call.rows, group, place.item)) {
      const JoinItem item = call.rows.joins[call.rows.join_begin[group] + place.item];
      join_query_gradients<Lanes, Format>(lanes, call, place, item);
    }
  }
};

template <typename Format, bool kHasTerms>
struct KeyGradientPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) {
    const std::int64_t keys = slices_of<Format>(call.attention.head_dim);
    const std::int64_t values = slices_of<Format>(call.attention.value_dim);
    return {call.columns.most_items, heads_of(call), (keys > values ? keys : values) * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) { return cuda::shared_bytes<Format>(backward_slices<Format>(call)); }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Place place = place_of<Format>(call, at);
    const std::int64_t group = group_of(call, place);
    if (has_item(call.columns, group, place.item)) {
      const WorkItem item = call.columns.items[call.columns.item_begin[group] + place.item];
      KeyGradientBlock<Lanes, Format, kHasTerms>(lanes, call, place, item).run();
    }
  }
};

/// z is 0 for keys and 1 for values; y a head of keys.
template <typename Format>
struct JoinKeyGradientPass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) {
    return {call.columns.most_joins, call.attention.batch * call.attention.key_heads, 2};
  }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const AttentionArguments& arguments = call.attention;
    const Place place{at.x, at.y / arguments.key_heads, at.y % arguments.key_heads, 0, 0};
    const std::int64_t first_head = place.head * (arguments.heads / arguments.key_heads);
    if (!has_join(call.columns, group_of(call, {0, place.batch, first_head, 0, 0}), place.item)) {
      return;
    }
    const JoinedKeys keys{call.partials.key, call.gradients.key_gradient, arguments.head_dim,
                          static_cast<float>(arguments.scale)};
    const JoinedKeys values{call.partials.value, call.gradients.value_gradient, arguments.value_dim, 1};
    join_key_gradients<Lanes, Format>(lanes, call, place, at.z == 0 ? keys : values);
  }
};

/// Only called where a gradient of the table is asked.
template <typename Format>
struct TablePass {
  static constexpr int kThreads = cuda::kThreads<Format>;
  static Grid grid(const DeviceCall& call) { return {call.rows.most_items, heads_of(call), kPartsOfBlock<Format>}; }
  static int shared_bytes(const DeviceCall& call) { return cuda::shared_bytes<Format>(backward_slices<Format>(call)); }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Place place = place_of<Format>(call, at);
    const std::int64_t group = group_of(call, place);
    if (has_item(call.rows, group, place.item)) {
      const WorkItem item = call.rows.items[call.rows.item_begin[group] + place.item];
      QueryGradientBlock<Lanes, Format, true, true>(lanes, call, place, item).run();
    }
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
    join_tables<Lanes, Format>(lanes, call, {at.x, 0, at.y, 0, 0});
  }
};

/// Calls work(Format) for the dtype of the call: one of the three that are there.
template <typename Work>
void with_format(DType dtype, const Work& work) {
  if (dtype == DType::kFloat32) {
    work(Float32Format{});
  } else if (dtype == DType::kBFloat16) {
    work(BFloat16Format{});
  } else {
    work(Float16Format{});
  }
}

/// Whether kernels must look at more than bits: distances, positions, log multiplicities, dropout.
inline bool has_terms(const DeviceCall& call) {
  return call.attention.distances.scores != nullptr || has_positions(call.attention) || call.draws.is_on ||
         call.has_weights;
}

/// launcher.template launch<Pass>(call) runs all thread blocks of a pass, one pass behind the other.
template <typename Launcher>
void run_forward(Launcher& launcher, const DeviceCall& call) {
  if (call.keep_words != nullptr) {
    launcher.template launch<KeepPass>(call);
  }
  with_format(call.attention.dtype, [&]<typename Format>(Format) {
    if (has_terms(call)) {
      launcher.template launch<ForwardPass<Format, kForwardSlices<Format>, true>>(call);
    } else {
      launcher.template launch<ForwardPass<Format, kForwardSlices<Format>, false>>(call);
    }
    if (call.rows.most_joins > 0) {
      launcher.template launch<JoinForwardPass<Format>>(call);
    }
  });
}

template <typename Format, bool kHasTerms, typename Launcher>
void run_gradients(Launcher& launcher, const DeviceCall& call) {
  launcher.template launch<DeltaPass<Format>>(call);
  launcher.template launch<QueryGradientPass<Format, kHasTerms>>(call);
  if (call.rows.most_joins > 0) {
    launcher.template launch<JoinQueryGradientPass<Format>>(call);
  }
  launcher.template launch<KeyGradientPass<Format, kHasTerms>>(call);
  if (call.columns.most_joins > 0) {
    launcher.template launch<JoinKeyGradientPass<Format>>(call);
  }
  if (call.gradients.distance_gradient != nullptr) {
    launcher.template launch<TablePass<Format>>(call);
    launcher.template launch<JoinTablePass<Format>>(call);
  }
}

template <typename Launcher>
void run_backward(Launcher& launcher, const DeviceCall& call) {
  if (call.keep_words != nullptr) {
    launcher.template launch<KeepPass>(call);
  }
  with_format(call.attention.dtype, [&]<typename Format>(Format) {
    if (has_terms(call)) {
      run_gradients<Format, true>(launcher, call);
    } else {
      run_gradients<Format, false>(launcher, call);
    }
  });
}

}  // namespace weft::kernels::cuda
