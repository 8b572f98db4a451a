// SPDX-License-Identifier: Apache-2.0
// The rows of queries that a block of the forward pass owns: their softmax as scores come, the weighted values of some
// columns, and where these go. How the products are made is the business of forward.h and forward_ahead.h.
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

/// kSlices slices of values a block. kHasTerms: the call has distances, positions, weights or dropout.
template <typename Lanes, typename Format, int kSlices, bool kHasTerms>
class ForwardRows {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE ForwardRows(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes), call_(call), at_(at), item_(item), first_row_(at.part * Format::kOwnRows) {}

  /// The queries, for a tile.
  WEFT_DEVICE SliceRows queries() const {
    const AttentionArguments& arguments = call_.attention;
    const std::int64_t first = std::int64_t{item_.block} * arguments.layout.tile_query;
    SliceRows rows = slice_rows<Format>(arguments.query, at_, at_.head, first + first_row_);
    rows.columns = arguments.head_dim;
    rows.there = queries_there(call_, item_.block) >> first_row_;
    return rows;
  }
  /// Begins to copy a slice of the keys of the block at `index`, or of its values that belong to these columns.
  WEFT_DEVICE void copy_met(std::int32_t index, bool is_key, int slice, int to) {
    const AttentionArguments& arguments = call_.attention;
    const std::int64_t key_block = arguments.layout.key_block[index];
    const std::int32_t key_head = at_.head / heads_of_key(arguments);
    SliceRows rows =
        slice_rows<Format>(is_key ? arguments.key : arguments.value, at_, key_head, key_block * kSliceRows);
    rows.columns = is_key ? arguments.head_dim : arguments.value_dim;
    rows.there = keys_there(call_, at_.batch, key_block);
    copy_slice<Format, kSliceRows>(lanes_, to, rows, is_key ? slice : at_.chunk * kSlices + slice, call_.is_aligned);
  }

  WEFT_DEVICE void begin() {
    lanes_.run([&](int thread) {
      constexpr float kLowest = std::numeric_limits<float>::lowest() / 2;  // so that it stays finite in base 2
      state_[thread] = {{kLowest, kLowest}, {0, 0}, {0, 0}, 0};
      unroll<kSlices>([&](auto slice) { output[slice][thread] = {}; });
    });
  }

  /// A block is met.
  WEFT_DEVICE Met meet_block(std::int32_t index) {
    const Met met = meet<true>(call_, at_, item_.block, index);
    lanes_.run([&](int thread) {
      unroll<2>([&](auto row) {
        const std::uint64_t word = edges_of<true, kHasTerms>(call_, at_, met, first_row_ + own_row(thread) + 8 * row);
        edges[thread].at[row] = word;
        state_[thread].seen[row] |= static_cast<std::uint32_t>(word) | static_cast<std::uint32_t>(word >> 32);
      });
    });
    return met;
  }

  /// Masks the scores of a block, adds its terms, and finds the greatest of each row.
  WEFT_DEVICE void find_maxima(const Met& met, Each<Scores>& scores) {
    lanes_.run([&](int thread) {
      const std::uint64_t words[2] = {edges[thread].at[0] >> own_column(thread),
                                      edges[thread].at[1] >> own_column(thread)};
      unroll<2>([&](auto row) { maximum_[row][thread] = std::numeric_limits<float>::lowest(); });
      unroll<32>([&](auto at) {
        const int of_row = at % 4 / 2;
        const int column = at / 4 * 8 + at % 2;
        float& score = scores[thread].at[at / 4][at % 4];
        state_[thread].trace += score;
        if (!met.is_whole && !has_bit(words[of_row], column)) {
          score = -std::numeric_limits<float>::infinity();
        } else if constexpr (kHasTerms) {
          score = edge_score<true>(call_, at_, met, first_row_ + own_row(thread) + 8 * of_row,
                                   column + own_column(thread), scale() * score);
        }
        maximum_[of_row][thread] = score > maximum_[of_row][thread] ? score : maximum_[of_row][thread];
      });
    });
    unroll<2>([&](auto row) { join_row<false>(lanes_, maximum_[row]); });
  }

  /// The scores become weights: exp(score - maximum), dropped or kept.
  WEFT_DEVICE void soften(const Met& met, Each<Scores>& scores) {
    lanes_.run([&](int thread) {
      unroll<2>([&](auto row) {
        raise_maximum(thread, row, kHasTerms ? maximum_[row][thread] : maximum_[row][thread] * scale());
      });
      unroll<32>([&](auto at) {
        const int of_row = at % 4 / 2;
        float& score = scores[thread].at[at / 4][at % 4];
        score = weight_of(score, state_[thread].maximum[of_row]);
        state_[thread].sum[of_row] += score;
      });
      drop(thread, met, scores);
    });
  }
  /// The sum of the weights that a thread has, which are not negative.
  WEFT_DEVICE const Each<float>& sums() {
    lanes_.run([&](int thread) { sums_[thread] = state_[thread].sum[0] + state_[thread].sum[1]; });
    return sums_;
  }
  /// What was summed before these weights is scaled as they are.
  WEFT_DEVICE void rescale() {
    lanes_.run([&](int thread) {
      unroll<kSlices>([&](auto slice) {
        unroll<Format::kColumns / 8 * 4>(
            [&](auto at) { output[slice][thread].at[at / 4][at % 4] *= factor_[at % 4 / 2][thread]; });
      });
    });
  }

  /// The sums of rows; whether any of the block is not finite, which is_lost() tells.
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
        unroll<Format::kColumns / 8 * 4>([&](auto at) { trace += output[slice][thread].at[at / 4][at % 4] * 0; });
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

  /// Whether anything is not finite; a barrier.
  WEFT_DEVICE bool is_lost() { return lanes_.any(is_lost_); }

  Each<ValueSums<Format>> output[kSlices];  ///< not divided yet
  Each<RowWords> edges;                     ///< of the block that was met last

 private:
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

  template <typename Row>
  WEFT_DEVICE void raise_maximum(int thread, Row row, float greatest) {
    constexpr float kHighest = std::numeric_limits<float>::max();
    RowState& state = state_[thread];
    const float before = state.maximum[row];
    const float joined = greatest > before ? greatest : before;
    state.maximum[row] = joined > kHighest ? kHighest : joined;
    factor_[row][thread] = rescaling(before, state.maximum[row]);
    state.sum[row] *= factor_[row][thread];
  }

  WEFT_DEVICE void drop(int thread, const Met& met, Each<Scores>& scores) {
    if constexpr (kHasTerms) {
      if (call_.draws.is_on) {
        unroll<16>([&](auto pair) {
          const int of_row = pair % 2;
          float kept[2];
          kept_pair<true>(call_, at_, met, first_row_ + own_row(thread) + 8 * of_row, pair / 2 * 8 + own_column(thread),
                          kept);
          scores[thread].at[pair / 2][2 * of_row] *= kept[0];
          scores[thread].at[pair / 2][2 * of_row + 1] *= kept[1];
        });
      }
    }
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
      const std::int64_t first = std::int64_t{at_.chunk * kSlices + slice} * Format::kColumns;
      each_of_row(output[slice][thread], thread, row, call_.attention.value_dim - first,
                  [&](int column, float sum) { store(first + column, sum); });
    });
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  Place at_;
  WorkItem item_;
  int first_row_;
  Each<RowState> state_;
  Each<float> maximum_[2];
  Each<float> factor_[2];
  Each<float> sums_;
  Each<bool> is_lost_;
};

}  // namespace weft::kernels::cuda
