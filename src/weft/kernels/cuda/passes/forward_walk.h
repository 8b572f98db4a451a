// SPDX-License-Identifier: Apache-2.0
// The walk of the forward pass: blocks of queries over blocks of keys.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/forward.h"
#include "weft/kernels/cuda/forward_ahead.h"
#include "weft/kernels/cuda/passes/walk.h"

namespace weft::kernels::cuda {

/// On lanes that have products of slices only: kIsPlain, of calls that are; kHasDraws, of those without terms but
/// dropout.
template <typename Of, int kSlices, bool kHasTerms, bool kIsPlain = false, bool kHasDraws = false>
struct ForwardWalk {
  using Format = Of;
  static constexpr int kThreads = cuda::kThreads<Format>;
  /// Thread blocks that a multiprocessor holds: three have 168 registers a thread, four 128.
  static constexpr int kResident = kIsHalf<Format> && !kHasTerms ? 3 + (kIsPlain ? 1 : 0) - (kHasDraws ? 1 : 0) : 1;
  static constexpr int kResidentElsewhere = kResident;
  /// Whether scores are made ahead, on lanes that have products of slices.
  static constexpr bool kMayGoAhead = kIsHalf<Format> && !kHasTerms;
  static constexpr bool kOnlyAhead = kIsPlain || kHasDraws;
  static constexpr bool kReadsAtOnce = kIsPlain;
  template <typename Lanes>
  using Ahead = ForwardAheadBlock<Lanes, Format, kIsPlain, kHasDraws>;
  template <typename Lanes, bool kCareful>
  using Block = ForwardBlock<Lanes, Format, kSlices, kHasTerms || kCareful, kCareful>;

  static constexpr const WorkList& list(const DeviceCall& call) { return call.rows; }
  static constexpr Grid grid(const DeviceCall& call) {
    const std::int64_t chunks = parts_of(call.attention.value_dim, Format::kColumns * kSlices);
    return {call.rows.most_items, heads_of(call), chunks * kPartsOfBlock<Format>};
  }
  static int shared_bytes(const DeviceCall& call) {
    return static_cast<int>(cuda::shared_bytes<Format>(slices_of<Format>(call.attention.head_dim)));
  }
};

}  // namespace weft::kernels::cuda
