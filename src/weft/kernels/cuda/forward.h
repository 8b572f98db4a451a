// SPDX-License-Identifier: Apache-2.0
// The forward pass of a block of queries: scores of each block of keys that it sees, the softmax as they come, and the
// weighted values of some columns. A part of a long row leaves its sums to be joined.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/cuda/forward_rows.h"

namespace weft::kernels::cuda {

/// kCareful: numbers may be NaN or infinite.
template <typename Lanes, typename Format, int kSlices, bool kHasTerms, bool kCareful>
class ForwardBlock {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE ForwardBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes),
        item_(item),
        is_aligned_(call.is_aligned),
        rows_(lanes, call, at, item),
        query_(lanes, 0, rows_.queries()),
        screen_(lanes, ring_place<Format>(query_.slices()) + kRingSlots * kSliceBytes) {}

  /// Whether the block must run again, carefully.
  WEFT_DEVICE bool run() {
    sum_blocks();
    rows_.store();
    return !kCareful && rows_.is_lost();
  }

 private:
  /// The slices of keys, then those of values, of one block after the other.
  struct Copy {
    WEFT_DEVICE void operator()(int to) {
      const int keys = of->query_.slices();
      of->rows_.copy_met(of->rows_.key_block(index), step < keys, step < keys ? step : step - keys, to);
      if (++step == keys + kSlices) {
        step = 0;
        ++index;
      }
    }
    ForwardBlock* of;
    std::int32_t index;
    int step;
  };
  using Slices = Ring<Lanes, kRingSlots - 1, Copy>;

  WEFT_DEVICE void sum_blocks() {
    rows_.begin();
    if constexpr (kCareful) {
      lanes_.run([&](int thread) { lost_queries_[thread] = {}; });
    }
    query_.copy(is_aligned_);
    const std::int32_t steps = (item_.end - item_.begin) * (query_.slices() + kSlices);
    Slices slices(lanes_, ring_place<Format>(query_.slices()), steps, Copy{this, item_.begin, 0});
    for (std::int32_t index = item_.begin; index < item_.end; ++index) {
      const Met met = rows_.meet_block(index);
      add_block_scores(slices, index == item_.begin);
      rows_.find_maxima(met, scores_);
      rows_.soften(met, scores_);
      rows_.rescale();
      unroll<kSlices>([&](auto slice) {
        const int place = slices.next();
        if constexpr (kCareful) {
          screen_.clean(place, slices.slot());
        }
        add_values<Format>(lanes_, rows_.output[slice], scores_, place);
        if constexpr (kCareful) {
          spoil_values(lanes_, rows_.output[slice], screen_, slices.slot(), rows_.edges.words);
        }
      });
    }
    rows_.end_sums();
  }

  /// scores_ = Q K^T of a block, not scaled.
  WEFT_DEVICE void add_block_scores(Slices& slices, bool is_first) {
    clear(lanes_, scores_);
    if constexpr (kCareful) {
      lanes_.run([&](int thread) { lost_keys_[thread] = 0; });
    }
    WEFT_DEVICE_LOOP
    for (int slice = 0; slice < query_.slices(); ++slice) {
      const int place = slices.next();
      if constexpr (kCareful) {
        if (is_first && slice == 0) {
          query_.screen(screen_, lost_queries_);
        }
        screen_.clean(place, slices.slot());
        lanes_.run([&](int thread) { lost_keys_[thread] |= screen_.rows(thread, slices.slot()); });
      }
      query_.add_scores_of(scores_, slice, place);
    }
    if constexpr (kCareful) {
      spoil(lanes_, scores_, lost_queries_, lost_keys_);
    }
  }

  Lanes& lanes_;
  WorkItem item_;
  bool is_aligned_;
  ForwardRows<Lanes, Format, kSlices, kHasTerms> rows_;
  OwnTile<Format, Lanes> query_;
  Screen<Format, Lanes> screen_;
  Each<Scores> scores_;
  Each<RowFlags> lost_queries_;
  Each<std::uint64_t> lost_keys_;
};

}  // namespace weft::kernels::cuda
