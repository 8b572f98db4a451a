// SPDX-License-Identifier: Apache-2.0
// The walks of the backward pass: blocks of queries over blocks of keys, and blocks of keys over blocks of queries.
// kIsNarrow: a call without terms but dropout has narrow heads, which have a way of their own where lanes have products
// of slices; kIsPlain: and its slices are whole.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/backward_keys.h"
#include "weft/kernels/cuda/backward_queries.h"
#include "weft/kernels/cuda/gradients_ahead.h"
#include "weft/kernels/cuda/passes/walk.h"

namespace weft::kernels::cuda {

/// Slices of the two tiles that a block of the backward pass owns.
template <typename Format>
constexpr int backward_slices(const DeviceCall& call) {
  return slices_of<Format>(call.attention.head_dim) + slices_of<Format>(call.attention.value_dim);
}

/// For gradients of queries; kIsTable: for that of a distance table, which must be asked for.
template <typename Of, bool kHasTerms, bool kIsTable, bool kIsNarrow = false, bool kIsPlain = false>
struct QueryGradientWalk {
  using Format = Of;
  static constexpr int kThreads = cuda::kThreads<Format>;
  static constexpr int kResident = kIsPlain ? 4 : (kIsHalf<Format> && (kIsNarrow || (!kHasTerms && !kIsTable)) ? 3 : 1);
  static constexpr int kResidentElsewhere = 1;
  static constexpr bool kMayGoAhead = kIsNarrow;
  static constexpr bool kOnlyAhead = kIsNarrow;
  static constexpr bool kReadsAtOnce = kIsNarrow && !kIsPlain;  // those would spill
  template <typename Lanes>
  using Ahead = GradientAheadBlock<Lanes, Format, true, kHasTerms, kIsPlain>;
  template <typename Lanes, bool kCareful>
  using Block = QueryGradientBlock<Lanes, Format, kHasTerms || kCareful, kIsTable, kCareful>;

  static constexpr const WorkList& list(const DeviceCall& call) { return call.rows; }
  static constexpr Grid grid(const DeviceCall& call) {
    const std::int64_t chunks = kIsTable ? 1 : slices_of<Format>(call.attention.head_dim);
    return {call.rows.most_items, heads_of(call), chunks * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) { return cuda::shared_bytes<Format>(backward_slices<Format>(call)); }
};

/// For gradients of keys and values.
template <typename Of, bool kHasTerms, bool kIsNarrow = false, bool kIsPlain = false>
struct KeyGradientWalk {
  using Format = Of;
  static constexpr int kThreads = cuda::kThreads<Format>;
  static constexpr int kResident = kIsHalf<Format> && !kHasTerms ? 3 : (kIsNarrow ? 2 : 1);
  static constexpr int kResidentElsewhere = 1;
  static constexpr bool kMayGoAhead = kIsNarrow;
  static constexpr bool kOnlyAhead = kIsNarrow;
  static constexpr bool kReadsAtOnce = kIsPlain;  // others would spill
  template <typename Lanes>
  using Ahead = GradientAheadBlock<Lanes, Format, false, kHasTerms, kIsPlain>;
  template <typename Lanes, bool kCareful>
  using Block = KeyGradientBlock<Lanes, Format, kHasTerms || kCareful, kCareful>;

  static constexpr const WorkList& list(const DeviceCall& call) { return call.columns; }
  static constexpr Grid grid(const DeviceCall& call) {
    const std::int64_t keys = slices_of<Format>(call.attention.head_dim);
    const std::int64_t values = slices_of<Format>(call.attention.value_dim);
    return {call.columns.most_items, heads_of(call), (keys > values ? keys : values) * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) {
    return cuda::shared_bytes<Format>(backward_slices<Format>(call)) + kStateBytes;
  }
};

}  // namespace weft::kernels::cuda
