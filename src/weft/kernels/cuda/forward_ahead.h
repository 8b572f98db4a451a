// SPDX-License-Identifier: Apache-2.0
// The forward pass where tensor cores multiply slices of shared memory by themselves (wgmma): the weighted values of a
// block are under way while the next block has its softmax, behind whose scores they were begun.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/forward_rows.h"

namespace weft::kernels::cuda {

/// Of calls without terms.
template <typename Lanes, typename Format>
class ForwardAheadBlock {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE ForwardAheadBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes),
        item_(item),
        is_aligned_(call.is_aligned),
        rows_(lanes, call, at, item),
        query_(lanes, 0, rows_.queries()) {}

  /// Whether the block must run again, carefully.
  WEFT_DEVICE bool run() {
    sum_blocks();
    rows_.store();
    return rows_.is_lost();
  }

 private:
  /// The slices of keys of the first block; those of the next one and the values of the one before, and so on; the
  /// values of the last one.
  struct Copy {
    WEFT_DEVICE void operator()(int to) {
      const int keys = of->query_.slices();
      const bool is_key = step < keys;
      of->rows_.copy_met(is_key ? index : index - 1, is_key, is_key ? step : 0, to);
      const bool has_values = index > of->item_.begin;
      if (++step == keys + (has_values ? 1 : 0)) {
        ++index;
        step = index < of->item_.end ? 0 : keys;
      }
    }
    ForwardAheadBlock* of;
    std::int32_t index;
    int step;
  };
  using Slices = Ring<Lanes, kRingSlots - 2, Copy, true>;

  WEFT_DEVICE void sum_blocks() {
    rows_.begin();
    query_.copy(is_aligned_);
    const std::int32_t steps = (item_.end - item_.begin) * (query_.slices() + 1);
    Slices slices(lanes_, ring_place<Format>(query_.slices()), steps, Copy{this, item_.begin, 0});
    if (item_.begin < item_.end) {
      sum_values(slices);
    }
    rows_.end_sums();
  }

  WEFT_DEVICE void sum_values(Slices& slices) {
    begin_scores(slices);
    lanes_.template wait_products<0>(scores_);
    weigh(item_.begin);
    WEFT_DEVICE_LOOP
    for (std::int32_t index = item_.begin + 1; index < item_.end; ++index) {
      begin_scores(slices);
      begin_values(slices);
      lanes_.template wait_products<1>(scores_);
      weigh(index);
    }
    begin_values(slices);
    lanes_.template wait_products<0>(rows_.output[0]);
  }

  /// The softmax of a block whose scores are there. No product is under way when its weights are rounded: the compiler
  /// would make all of them wait for each other (C7513), as it does with scores that are begun a block ahead.
  WEFT_DEVICE void weigh(std::int32_t index) {
    const Met met = rows_.meet_block(index);
    rows_.find_maxima(met, scores_);
    rows_.soften(met, scores_);
    lanes_.order(rows_.sums());
    lanes_.template wait_products<0>(rows_.output[0]);
    rows_.rescale();
    lanes_.run([&](int thread) {
      unroll<16>([&](auto at) {
        const float* const pair = &scores_[thread].at[2 * (at / 4) + at % 4 / 2][at % 2 * 2];
        weights_[thread].at[at / 4][at % 4] = Lanes::template pack<Format>(pair[0], pair[1]);
      });
    });
  }

  /// Begins scores_ = Q K^T of a block, not scaled.
  WEFT_DEVICE void begin_scores(Slices& slices) {
    begin_scores_of(slices, 0);
    WEFT_DEVICE_LOOP
    for (int slice = 1; slice < query_.slices(); ++slice) {
      lanes_.template wait_products<0>(scores_);
      begin_scores_of(slices, slice);
    }
  }
  WEFT_DEVICE void begin_scores_of(Slices& slices, int slice) {
    const int place = slices.next();
    lanes_.begin_products(scores_);
    lanes_.template multiply_slices<Format>(scores_, query_.place(slice), place, slice > 0);
    lanes_.commit_products();
  }

  /// Begins to add the weighted values of the block before. The scores may be under way: the ring leaves the slice that
  /// was used last as it is.
  WEFT_DEVICE void begin_values(Slices& slices) {
    const int place = slices.next();
    lanes_.begin_products(rows_.output[0], weights_);
    lanes_.template multiply_weights<Format>(rows_.output[0], weights_, place);
    lanes_.commit_products();
  }

  Lanes& lanes_;
  WorkItem item_;
  bool is_aligned_;
  ForwardRows<Lanes, Format, 1, false> rows_;
  OwnTile<Format, Lanes> query_;
  Each<Scores> scores_;
  Each<PackedWeights> weights_;
};

}  // namespace weft::kernels::cuda
