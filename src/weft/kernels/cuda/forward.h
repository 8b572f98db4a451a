// SPDX-License-Identifier: Apache-2.0
// The forward pass of a block of queries: scores of each block of keys that it sees, the softmax as they come, and the
// weighted values of some columns. A part of a long row leaves its sums to be joined.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/cuda/own_rows.h"

namespace weft::kernels::cuda {

/// A thread's two rows.
struct RowState {
  float maximum[2];
  float sum[2];
  std::uint32_t seen[2];  ///< not zero: the row has an edge
  float trace;            ///< not finite where a score was not: the block runs again, carefully
};

/// kSlices slices of values a block. kHasTerms: the call has distances, positions, weights or dropout. kCareful:
/// numbers may be NaN or infinite.
template <typename Lanes, typename Format, int kSlices, bool kHasTerms, bool kCareful>
class ForwardBlock {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE ForwardBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes),
        call_(call),
        at_(at),
        item_(item),
        first_row_(at.part * Format::kOwnRows),
        key_head_(at.head / heads_of_key(call.attention)),
        query_(lanes, 0, query_rows()),
        screen_(lanes, ring_place<Format>(query_.slices()) + kRingSlots * kSliceBytes) {}

  /// Whether the block must run again, carefully.
  WEFT_DEVICE bool run() {
    sum_blocks();
    store();
    return !kCareful && lanes_.any(is_lost_);
  }

 private:
  /// The slices of keys, then those of values, of one block after the other.
  struct Copy {
    WEFT_DEVICE void operator()(int to) {
      ForwardBlock& block = *of;
      const AttentionArguments& arguments = block.call_.attention;
      const std::int64_t key_block = arguments.layout.key_block[index];
      const bool is_key = step < block.query_.slices();
      SliceRows rows = slice_rows<Format>(is_key ? arguments.key : arguments.value, block.at_, block.key_head_,
                                          key_block * kSliceRows);
      rows.columns = is_key ? arguments.head_dim : arguments.value_dim;
      rows.there = keys_there(block.call_, block.at_.batch, key_block);
      const int slice = is_key ? step : block.at_.chunk * kSlices + step - block.query_.slices();
      copy_slice<Format, kSliceRows>(block.lanes_, to, rows, slice, block.call_.is_aligned);
      if (++step == block.query_.slices() + kSlices) {
        step = 0;
        ++index;
      }
    }
    ForwardBlock* of;
    std::int32_t index;
    int step;
  };
  using Slices = Ring<Lanes, kRingSlots - 1, Copy>;

  WEFT_DEVICE SliceRows query_rows() const {
    const AttentionArguments& arguments = call_.attention;
    const std::int64_t first = std::int64_t{item_.block} * arguments.layout.tile_query;
    SliceRows rows = slice_rows<Format>(arguments.query, at_, at_.head, first + first_row_);
    rows.columns = arguments.head_dim;
    rows.there = queries_there(call_, item_.block) >> first_row_;
    return rows;
  }

  WEFT_DEVICE void sum_blocks() {
    lanes_.run([&](int thread) {
      constexpr float kLowest = std::numeric_limits<float>::lowest() / 2;  // so that it stays finite in base 2
      state_[thread] = {{kLowest, kLowest}, {0, 0}, {0, 0}, 0};
      if constexpr (kCareful) {
        lost_queries_[thread] = {};
      }
      unroll<kSlices>([&](auto slice) { output_[slice][thread] = {}; });
    });
    query_.copy(call_.is_aligned);
    const std::int32_t steps = (item_.end - item_.begin) * (query_.slices() + kSlices);
    Slices slices(lanes_, ring_place<Format>(query_.slices()), steps, Copy{this, item_.begin, 0});
    for (std::int32_t index = item_.begin; index < item_.end; ++index) {
      const Met met = meet<true>(call_, at_, item_.block, index);
      add_block_scores(slices, met, index == item_.begin);
      soften(met);
      unroll<kSlices>([&](auto slice) {
        const int place = slices.next();
        if constexpr (kCareful) {
          screen_.clean(place, slices.slot());
        }
        add_values<Format>(lanes_, output_[slice], scores_, place);
        if constexpr (kCareful) {
          spoil_values(lanes_, output_[slice], screen_, slices.slot(), edges_);
        }
      });
    }
    end_sums();
  }

  /// scores_ = Q K^T of a block, not scaled.
  WEFT_DEVICE void add_block_scores(Slices& slices, const Met& met, bool is_first) {
    lanes_.run([&](int thread) {
      scores_[thread] = {};
      if constexpr (kCareful) {
        lost_keys_[thread] = 0;
      }
      unroll<2>([&](auto row) {
        const std::uint64_t edges = edges_of<true>(call_, at_, met, first_row_ + own_row(thread) + 8 * row);
        edges_[thread].at[row] = edges;
        state_[thread].seen[row] |= static_cast<std::uint32_t>(edges) | static_cast<std::uint32_t>(edges >> 32);
      });
    });
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

  /// exp(score - maximum). Without terms scores are not scaled yet, and one instruction does both.
  WEFT_DEVICE float weight_of(float score, float maximum) const {
    if constexpr (kHasTerms) {
      return Lanes::exp2((score - maximum) * kLogTwoOfE);  // maxima may be as low as kOwnScore
    }
    return Lanes::exp2(Lanes::multiply_add(score, scale() * kLogTwoOfE, -(maximum * kLogTwoOfE)));
  }
  /// What a sum is multiplied with when the maximum rises.
  WEFT_DEVICE float rescaling(float before, float maximum) const {
    return Lanes::exp2(kHasTerms ? (before - maximum) * kLogTwoOfE : before * kLogTwoOfE - maximum * kLogTwoOfE);
  }
  WEFT_DEVICE float scale() const { return static_cast<float>(call_.attention.scale); }

  /// scores_ become weights: exp(score - maximum), dropped or kept; what was summed before is rescaled.
  WEFT_DEVICE void soften(const Met& met) {
    lanes_.run([&](int thread) {
      const std::uint64_t edges[2] = {edges_[thread].at[0] >> own_column(thread),
                                      edges_[thread].at[1] >> own_column(thread)};
      unroll<2>([&](auto row) { maximum_[row][thread] = std::numeric_limits<float>::lowest(); });
      unroll<32>([&](auto at) {
        const int of_row = at % 4 / 2;
        const int column = at / 4 * 8 + at % 2;
        float& score = scores_[thread].at[at / 4][at % 4];
        state_[thread].trace += score;
        if (!met.is_whole && !has_bit(edges[of_row], column)) {
          score = -std::numeric_limits<float>::infinity();
        } else if constexpr (kHasTerms) {
          score = edge_score<true>(call_, at_, met, first_row_ + own_row(thread) + 8 * of_row,
                                   column + own_column(thread), scale() * score);
        }
        maximum_[of_row][thread] = score > maximum_[of_row][thread] ? score : maximum_[of_row][thread];
      });
    });
    unroll<2>([&](auto row) { join_row<false>(lanes_, maximum_[row]); });
    lanes_.run([&](int thread) {
      unroll<2>(
          [&](auto row) { rescale(thread, row, kHasTerms ? maximum_[row][thread] : maximum_[row][thread] * scale()); });
      unroll<32>([&](auto at) {
        const int of_row = at % 4 / 2;
        float& score = scores_[thread].at[at / 4][at % 4];
        score = weight_of(score, state_[thread].maximum[of_row]);
        state_[thread].sum[of_row] += score;
      });
      drop(thread, met);
    });
  }

  template <typename Row>
  WEFT_DEVICE void rescale(int thread, Row row, float greatest) {
    constexpr float kHighest = std::numeric_limits<float>::max();
    RowState& state = state_[thread];
    const float before = state.maximum[row];
    const float joined = greatest > before ? greatest : before;
    state.maximum[row] = joined > kHighest ? kHighest : joined;
    const float factor = rescaling(before, state.maximum[row]);
    state.sum[row] *= factor;
    unroll<kSlices>([&](auto slice) {
      unroll<Format::kColumns / 8>([&](auto tile) {
        output_[slice][thread].at[tile][2 * row] *= factor;
        output_[slice][thread].at[tile][2 * row + 1] *= factor;
      });
    });
  }

  WEFT_DEVICE void drop(int thread, const Met& met) {
    if constexpr (kHasTerms) {
      if (call_.draws.is_on) {
        unroll<16>([&](auto pair) {
          const int of_row = pair % 2;
          float kept[2];
          kept_pair<true>(call_, at_, met, first_row_ + own_row(thread) + 8 * of_row, pair / 2 * 8 + own_column(thread),
                          kept);
          scores_[thread].at[pair / 2][2 * of_row] *= kept[0];
          scores_[thread].at[pair / 2][2 * of_row + 1] *= kept[1];
        });
      }
    }
  }

  /// The sums of rows, and whether anything is not finite.
  WEFT_DEVICE void end_sums() {
    Each<float> sums[2];
    unroll<2>([&](auto row) {
      lanes_.run([&](int thread) { sums[row][thread] = state_[thread].sum[row]; });
      join_row<true>(lanes_, sums[row]);
    });
    lanes_.run([&](int thread) {
      float trace = state_[thread].trace;
      unroll<2>([&](auto row) {
        state_[thread].sum[row] = sums[row][thread];
        trace += sums[row][thread] * 0;
      });
      unroll<kSlices>([&](auto slice) {
        unroll<Format::kColumns / 8 * 4>([&](auto at) { trace += output_[slice][thread].at[at / 4][at % 4] * 0; });
      });
      is_lost_[thread] = is_lost_sum(trace);
    });
  }

  WEFT_DEVICE void store() {
    lanes_.run([&](int thread) {
      unroll<2>([&](auto row) {
        const int own = own_row(thread) + 8 * row;
        if (!has_bit(queries_there(call_, item_.block) >> first_row_, own)) {
          return;
        }
        if (item_.slot < 0) {
          store_row(thread, row, own);
        } else {
          store_part(thread, row, own);
        }
      });
    });
  }

  template <typename Row>
  WEFT_DEVICE void store_row(int thread, Row row, int own) {
    const AttentionArguments& arguments = call_.attention;
    const std::int64_t query = std::int64_t{item_.block} * arguments.layout.tile_query + first_row_ + own;
    const RowState& state = state_[thread];
    const bool is_empty = state.seen[row] == 0;
    const float sum =
        state.sum[row] > 0 && !is_lost_sum(state.sum[row]) ? state.sum[row] : std::numeric_limits<float>::quiet_NaN();
    const float factor = is_empty ? 0.0F : 1.0F / sum;
    const std::int64_t to = row_place(arguments.output, at_.batch, at_.head, query);
    each_column(thread, row, [&](std::int64_t column, float value) {
      store_number<Format, Lanes>(arguments.output.data, to + column, value * factor);
    });
    if (at_.chunk == 0 && thread % 4 == 0) {
      static_cast<float*>(
          arguments.log_sum_exp)[(at_.batch * arguments.heads + at_.head) * arguments.query_length + query] =
          is_empty ? -std::numeric_limits<float>::infinity() : state.maximum[row] + Lanes::log(sum);
    }
  }

  template <typename Row>
  WEFT_DEVICE void store_part(int thread, Row row, int own) {
    const std::int64_t slot = (at_.batch * call_.attention.heads + at_.head) * call_.rows.slots + item_.slot;
    const std::int64_t to = slot * kSliceRows + first_row_ + own;
    each_column(thread, row, [&](std::int64_t column, float value) {
      call_.partials.output[to * call_.attention.value_dim + column] = value;
    });
    if (at_.chunk == 0 && thread % 4 == 0) {
      const bool is_empty = state_[thread].seen[row] == 0;
      call_.partials.maximum[to] = is_empty ? -std::numeric_limits<float>::infinity() : state_[thread].maximum[row];
      call_.partials.sum[to] = state_[thread].sum[row];
    }
  }

  template <typename Row, typename Store>
  WEFT_DEVICE void each_column(int thread, Row row, const Store& store) {
    unroll<kSlices>([&](auto slice) {
      unroll<Format::kColumns / 8 * 2>([&](auto at) {
        const std::int64_t column =
            std::int64_t{at_.chunk * kSlices + slice} * Format::kColumns + at / 2 * 8 + own_column(thread) + at % 2;
        if (column < call_.attention.value_dim) {
          store(column, output_[slice][thread].at[at / 2][2 * row + at % 2]);
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
  Screen<Format, Lanes> screen_;
  Each<Scores> scores_;
  Each<ValueSums<Format>> output_[kSlices];
  Each<RowState> state_;
  Each<RowWords> edges_;
  Each<float> maximum_[2];
  Each<bool> is_lost_;
  Each<RowFlags> lost_queries_;
  Each<std::uint64_t> lost_keys_;
};

/// Joins the parts of a long row, in their order: each thread some entries of the output.
template <typename Lanes, typename Format>
WEFT_DEVICE void join_forward(Lanes& lanes, const DeviceCall& call, const Place& at, const JoinItem& item) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  lanes.run([&](int thread) {
    const AttentionArguments& arguments = call.attention;
    const std::int64_t head = at.batch * arguments.heads + at.head;
    const std::int64_t slot = head * call.rows.slots + item.slot;
    const auto width = static_cast<std::int32_t>(arguments.value_dim);
    for (std::int32_t entry = thread; entry < kSliceRows * width; entry += kThreads<Format>) {
      const std::int32_t row = entry / width;
      if (!has_bit(queries_there(call, item.block), row)) {
        return;
      }
      const auto of_part = [&](int part) { return (slot + part) * kSliceRows + row; };
      float maximum = -kInfinite;
      for (int part = 0; part < item.count; ++part) {
        const float of = call.partials.maximum[of_part(part)];
        maximum = of > maximum ? of : maximum;
      }
      const bool is_empty = maximum == -kInfinite;
      float sum = 0;
      float value = 0;
      for (int part = 0; part < item.count && !is_empty; ++part) {
        if (call.partials.maximum[of_part(part)] > -kInfinite) {
          const float factor = Lanes::exp2((call.partials.maximum[of_part(part)] - maximum) * kLogTwoOfE);
          sum += call.partials.sum[of_part(part)] * factor;
          value += call.partials.output[of_part(part) * width + entry % width] * factor;
        }
      }
      const float answer = sum > 0 && !is_lost_sum(sum) ? sum : std::numeric_limits<float>::quiet_NaN();
      const std::int64_t query = std::int64_t{item.block} * arguments.layout.tile_query + row;
      store_number<Format, Lanes>(arguments.output.data,
                                  row_place(arguments.output, at.batch, at.head, query) + entry % width,
                                  is_empty ? 0.0F : value / answer);
      if (entry % width == 0) {
        static_cast<float*>(arguments.log_sum_exp)[head * arguments.query_length + query] =
            is_empty ? -kInfinite : maximum + Lanes::log(answer);
      }
    }
  });
}

}  // namespace weft::kernels::cuda
