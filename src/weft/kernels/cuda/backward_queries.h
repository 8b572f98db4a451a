// SPDX-License-Identifier: Apache-2.0
// The gradient of a block of queries, over the blocks of keys that it sees: dQ = scale dS K for the columns of a slice.
// The same walk sums dS for a distance table.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/distance_sums.h"
#include "weft/kernels/cuda/score_gradients.h"

namespace weft::kernels::cuda {

/// kIsTable: not dQ is wanted but the gradient of the distance table.
template <typename Lanes, typename Format, bool kHasTerms, bool kIsTable, bool kCareful>
class QueryGradientBlock {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE QueryGradientBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes),
        call_(call),
        at_(at),
        item_(item),
        first_row_(at.part * Format::kOwnRows),
        key_head_(at.head / heads_of_key(call.attention)),
        query_(lanes, 0, own_rows(call.attention.query, call.attention.head_dim)),
        gradient_(lanes, query_.slices() * kOwnSliceBytes<Format>,
                  own_rows(call.gradients.output_gradient, call.attention.value_dim)),
        ring_place_(ring_place<Format>(query_.slices() + gradient_.slices())),
        screen_(lanes, ring_place_ + kRingSlots * kSliceBytes),
        scores_(lanes, call, at, first_row_, 0, 0),
        distances_(lanes, call, at, ring_place_ + kRingSlots * kSliceBytes) {}

  /// Whether the block must run again, carefully.
  WEFT_DEVICE bool run() {
    sum_blocks();
    if constexpr (!kIsTable) {
      store();
    }
    lanes_.run([&](int thread) {
      is_lost_[thread] = is_lost_sum(scores_.trace(thread) + trace_of<Format, Lanes>(sums_, thread));
    });
    return !kCareful && lanes_.any(is_lost_);
  }

 private:
  /// Of each block the slices of values, then those of keys, that of the result last.
  struct Copy {
    WEFT_DEVICE void operator()(int to) {
      QueryGradientBlock& block = *of;
      const AttentionArguments& arguments = block.call_.attention;
      const int values = block.gradient_.slices();
      const int keys = block.query_.slices();
      const std::int64_t key_block = arguments.layout.key_block[index];
      const bool is_value = step < values;
      SliceRows rows = slice_rows<Format>(is_value ? arguments.value : arguments.key, block.at_, block.key_head_,
                                          key_block * kSliceRows);
      rows.columns = is_value ? arguments.value_dim : arguments.head_dim;
      rows.there = keys_there(block.call_, block.at_.batch, key_block);
      copy_slice<Format, kSliceRows>(block.lanes_, to, rows,
                                     is_value ? step : slice_before(step - values, keys, block.at_.chunk),
                                     block.call_.is_aligned);
      if (++step == values + keys) {
        step = 0;
        ++index;
      }
    }
    QueryGradientBlock* of;
    std::int32_t index;
    int step;
  };
  using Slices = Ring<Lanes, kRingSlots - 1, Copy>;

  WEFT_DEVICE std::int64_t first_query() const {
    return std::int64_t{item_.block} * call_.attention.layout.tile_query + first_row_;
  }
  WEFT_DEVICE SliceRows own_rows(const Input& array, std::int64_t columns) const {
    SliceRows rows = slice_rows<Format>(array, at_, at_.head, first_query());
    rows.columns = columns;
    rows.there = queries_there(call_, item_.block) >> first_row_;
    return rows;
  }

  WEFT_DEVICE void sum_blocks() {
    scores_.begin(first_query());
    lanes_.run([&](int thread) { sums_[thread] = {}; });
    if constexpr (kIsTable) {
      distances_.clear();
    }
    query_.copy(call_.is_aligned);
    gradient_.copy(call_.is_aligned);
    const std::int32_t steps = (item_.end - item_.begin) * (query_.slices() + gradient_.slices());
    Slices slices(lanes_, ring_place_, steps, Copy{this, item_.begin, 0});
    for (std::int32_t index = item_.begin; index < item_.end; ++index) {
      add_block(slices, meet<true>(call_, at_, item_.block, index), index == item_.begin);
    }
  }

  WEFT_DEVICE void add_block(Slices& slices, const Met& met, bool is_first) {
    scores_.begin_block(met);
    int place = 0;
    WEFT_DEVICE_LOOP
    for (int step = 0; step < gradient_.slices() + query_.slices(); ++step) {
      place = slices.next();
      if constexpr (kCareful) {
        if (is_first && step == 0) {
          query_.screen(screen_, scores_.lost_first());
          gradient_.screen(screen_, scores_.lost_second());
        }
      }
      const bool is_score = step >= gradient_.slices();
      if constexpr (kCareful) {
        screen_.clean(place, slices.slot());
        scores_.note_lost(screen_, slices.slot(), is_score);
      }
      if (is_score) {
        query_.add_scores_of(scores_.scores, slice_before(step - gradient_.slices(), query_.slices(), at_.chunk),
                             place);
      } else {
        gradient_.add_scores_of(scores_.incoming, step, place);
      }
    }
    if constexpr (kCareful) {
      scores_.spoil_scores();
    }
    scores_.turn(met);
    if constexpr (kIsTable) {
      distances_.add(met, scores_.incoming);
    } else {
      add_values<Format>(lanes_, sums_, scores_.incoming, place);
    }
  }

  WEFT_DEVICE void store() {
    lanes_.run([&](int thread) {
      const AttentionArguments& arguments = call_.attention;
      const std::uint64_t there = queries_there(call_, item_.block) >> first_row_;
      const std::int64_t slot = (at_.batch * arguments.heads + at_.head) * call_.rows.slots + item_.slot;
      const std::int64_t first = std::int64_t{at_.chunk} * Format::kColumns;
      unroll<2>([&](auto row) {
        const int own = own_row(thread) + 8 * row;
        if (!has_bit(there, own)) {
          return;
        }
        if (item_.slot < 0) {
          const Output& output = call_.gradients.query_gradient;
          const std::int64_t to = row_place(output, at_.batch, at_.head, first_query() + own) + first;
          each_of_row(sums_[thread], thread, row, arguments.head_dim - first, [&](int column, float sum) {
            store_number<Format, Lanes>(output.data, to + column, static_cast<float>(arguments.scale) * sum);
          });
        } else {
          float* const to = call_.partials.query + (slot * kSliceRows + first_row_ + own) * arguments.head_dim + first;
          each_of_row(sums_[thread], thread, row, arguments.head_dim - first,
                      [&](int column, float sum) { to[column] = sum; });
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
  OwnTile<Format, Lanes> query_;
  OwnTile<Format, Lanes> gradient_;
  int ring_place_;
  Screen<Format, Lanes> screen_;
  ScoreGradients<Lanes, true, kHasTerms, kCareful> scores_;
  DistanceSums<Lanes, Format> distances_;
  Each<ValueSums<Format>> sums_;
  Each<bool> is_lost_;
};

}  // namespace weft::kernels::cuda
