// SPDX-License-Identifier: Apache-2.0
// The gradients of a block of keys and values, over the blocks of queries that see it: dV = P^T dO and dK = scale dS^T
// Q for the columns of a slice of each. Heads that share a key are summed afterwards, in their order.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/score_gradients.h"

namespace weft::kernels::cuda {

template <typename Lanes, typename Format, bool kHasTerms, bool kCareful>
class KeyGradientBlock {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE KeyGradientBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes),
        call_(call),
        at_(at),
        item_(item),
        first_row_(at.part * Format::kOwnRows),
        key_head_(at.head / heads_of_key(call.attention)),
        key_(lanes, 0, own_rows(call.attention.key, call.attention.head_dim)),
        value_(lanes, key_.slices() * kOwnSliceBytes<Format>, own_rows(call.attention.value, call.attention.value_dim)),
        ring_place_(ring_place<Format>(key_.slices() + value_.slices())),
        screen_(lanes, ring_place_ + kRingSlots * kSliceBytes),
        scores_(lanes, call, at, first_row_, ring_place_ + kRingSlots * (kSliceBytes + kSliceRows * 8),
                ring_place_ + kRingSlots * kSliceBytes) {}

  /// Whether the block must run again, carefully.
  WEFT_DEVICE bool run() {
    sum_blocks();
    store();
    lanes_.run([&](int thread) {
      is_lost_[thread] = is_lost_sum(scores_.trace(thread) + trace_of<Format, Lanes>(key_sums_, thread) +
                                     trace_of<Format, Lanes>(value_sums_, thread));
    });
    return !kCareful && lanes_.any(is_lost_);
  }

 private:
  /// Of each block the slices of dO and of Q that have no part in the results, then that of Q, then that of dO.
  struct Copy {
    WEFT_DEVICE void operator()(int to) {
      KeyGradientBlock& block = *of;
      const AttentionArguments& arguments = block.call_.attention;
      const Step now = block.step_of(step);
      const std::int64_t query_block = block.call_.gradients.transpose.query_block[index];
      SliceRows rows = slice_rows<Format>(now.is_score ? arguments.query : block.call_.gradients.output_gradient,
                                          block.at_, block.at_.head, query_block * arguments.layout.tile_query);
      rows.columns = now.is_score ? arguments.head_dim : arguments.value_dim;
      rows.there = queries_there(block.call_, query_block);
      copy_slice<Format, kSliceRows>(block.lanes_, to, rows, now.slice, block.call_.is_aligned);
      if (++step == block.steps()) {
        step = 0;
        ++index;
      }
    }
    KeyGradientBlock* of;
    std::int32_t index;
    int step;
  };
  using Slices = Ring<Lanes, kRingSlots - 2, Copy>;

  struct Step {
    bool is_score;
    int slice;
  };
  WEFT_DEVICE int steps() const { return key_.slices() + value_.slices(); }
  WEFT_DEVICE Step step_of(int step) const {
    const int values = value_.slices();
    const int of_value = at_.chunk < values ? at_.chunk : values - 1;
    const int of_key = at_.chunk < key_.slices() ? at_.chunk : key_.slices() - 1;
    if (step < values - 1) {
      return {false, slice_before(step, values, of_value)};
    }
    return step == steps() - 1 ? Step{false, of_value}
                               : Step{true, slice_before(step - (values - 1), key_.slices(), of_key)};
  }

  WEFT_DEVICE std::int64_t first_key() const { return std::int64_t{item_.block} * kSliceRows + first_row_; }
  WEFT_DEVICE SliceRows own_rows(const Input& array, std::int64_t columns) const {
    SliceRows rows = slice_rows<Format>(array, at_, key_head_, first_key());
    rows.columns = columns;
    rows.there = keys_there(call_, at_.batch, item_.block) >> first_row_;
    return rows;
  }

  WEFT_DEVICE void sum_blocks() {
    scores_.begin(0);
    lanes_.run([&](int thread) {
      key_sums_[thread] = {};
      value_sums_[thread] = {};
    });
    key_.copy(call_.is_aligned);
    value_.copy(call_.is_aligned);
    Slices slices(lanes_, ring_place_, (item_.end - item_.begin) * steps(), Copy{this, item_.begin, 0});
    for (std::int32_t index = item_.begin; index < item_.end; ++index) {
      add_block(slices, meet<false>(call_, at_, 0, index), index == item_.begin);
    }
  }

  WEFT_DEVICE void add_block(Slices& slices, const Met& met, bool is_first) {
    scores_.begin_block(met);
    int place = 0;
    int before = 0;
    WEFT_DEVICE_LOOP
    for (int step = 0; step < steps(); ++step) {
      before = place;
      place = slices.next();
      if (step == 0) {
        scores_.template note_queries<Format>(met);
      }
      if constexpr (kCareful) {
        if (is_first && step == 0) {
          key_.screen(screen_, scores_.lost_first());
          value_.screen(screen_, scores_.lost_second());
        }
      }
      const Step now = step_of(step);
      if constexpr (kCareful) {
        screen_.clean(place, slices.slot());
        scores_.note_lost(screen_, slices.slot(), now.is_score);
      }
      if (now.is_score) {
        key_.add_scores_of(scores_.scores, now.slice, place);
      } else {
        value_.add_scores_of(scores_.incoming, now.slice, place);
      }
    }
    if constexpr (kCareful) {
      scores_.spoil_scores();
    }
    scores_.turn(met);
    // No dV for columns that values have not. In 32 bits that also parts the two products: together they would spill.
    if (kIsHalf<Format> || at_.chunk < value_.slices()) {
      add_values<Format>(lanes_, value_sums_, scores_.scores, place);
    }
    add_values<Format>(lanes_, key_sums_, scores_.incoming, before);
    if constexpr (kCareful) {
      spoil_values(lanes_, value_sums_, screen_, slices.slot(), scores_.edges.words);
    }
  }

  /// What only this needs is read and computed again, rather than kept in registers while blocks are met.
  WEFT_DEVICE void store() {
    item_ = item_of(call_, call_.columns, at_);
    key_head_ = Lanes::forget(at_.head) / heads_of_key(call_.attention);
    const AttentionGradients& gradients = call_.gradients;
    if (at_.chunk < key_.slices()) {
      store_sums(key_sums_, gradients.key_gradient, call_.partials.key, call_.attention.head_dim,
                 static_cast<float>(call_.attention.scale));
    }
    if (at_.chunk < value_.slices()) {
      store_sums(value_sums_, gradients.value_gradient, call_.partials.value, call_.attention.value_dim, 1);
    }
  }

  WEFT_DEVICE void store_sums(const Each<ValueSums<Format>>& sums, const Output& output, float* partial,
                              std::int64_t width, float scale) {
    lanes_.run([&](int thread) {
      const std::int64_t slot = (at_.batch * call_.attention.heads + at_.head) * call_.columns.slots + item_.slot;
      const std::int64_t first = std::int64_t{at_.chunk} * Format::kColumns;
      unroll<2>([&](auto row) {
        const int own = own_row(thread) + 8 * row;
        if (first_key() + own >= call_.attention.key_length) {
          return;
        }
        if (item_.slot < 0) {
          const std::int64_t to = row_place(output, at_.batch, key_head_, first_key() + own) + first;
          each_of_row(sums[thread], thread, row, width - first, [&](int column, float sum) {
            store_number<Format, Lanes>(output.data, to + column, scale * sum);
          });
        } else {
          float* const to = partial + (slot * kSliceRows + first_row_ + own) * width + first;
          each_of_row(sums[thread], thread, row, width - first, [&](int column, float sum) { to[column] = sum; });
        }
      });
    });
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  Place at_;
  WorkItem item_;
  int first_row_;
  std::int32_t key_head_;
  OwnTile<Format, Lanes> key_;
  OwnTile<Format, Lanes> value_;
  int ring_place_;
  Screen<Format, Lanes> screen_;
  ScoreGradients<Lanes, false, kHasTerms, kCareful> scores_;
  Each<ValueSums<Format>> key_sums_;
  Each<ValueSums<Format>> value_sums_;
  Each<bool> is_lost_;
};

}  // namespace weft::kernels::cuda
