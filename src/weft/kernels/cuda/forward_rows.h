// SPDX-License-Identifier: Apache-2.0
// The rows of queries that a block of the forward pass owns: their softmax as scores come, the weighted values of some
// columns, and where these go. How the products are made is the business of forward.h and forward_ahead.h.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/cuda/own_rows.h"

namespace weft::kernels::cuda {

/// Of the bits of a block: a word a row.
inline constexpr int kBitsBytes = kSliceRows * 8;

/// A thread's two rows.
struct RowState {
  /// The greatest score yet, which is subtracted from scores; in base 2 where there are no terms. It is raised
  /// whenever it can be: the largest weights of a row are then about 1, and the largest of all is not rounded.
  float maximum[2];
  float sum[2];
  std::uint32_t seen[2];  ///< with terms; not zero: the row has an edge. Without terms its sum tells
  float trace;            ///< not finite where a score was not: the block runs again, carefully
};

/// kSlices slices of values a block. kHasTerms: the call has distances, positions, weights or dropout.
template <typename Lanes, typename Format, int kSlices, bool kHasTerms>
class ForwardRows {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE ForwardRows(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes),
        call_(call),
        at_(at),
        item_(item),
        first_row_(at.part * Format::kOwnRows),
        scale_(static_cast<float>(call.attention.scale) * (kHasTerms ? 1.0F : kLogTwoOfE)) {}

  /// The queries, for a tile.
  WEFT_DEVICE SliceRows queries() const {
    const AttentionArguments& arguments = call_.attention;
    const std::int64_t first = std::int64_t{item_.block} * arguments.layout.tile_query;
    SliceRows rows = slice_rows<Format>(arguments.query, at_, at_.head, first + first_row_);
    rows.columns = arguments.head_dim;
    rows.there = queries_there(call_, item_.block) >> first_row_;
    return rows;
  }
  /// The same where all rows and columns are whole: begins to copy them.
  WEFT_DEVICE void copy_plain_queries(int to) {
    PlainCopies<Format, Lanes>(lanes_, call_.attention.query, at_, at_.head).copy(item_.block, 0, to);
  }
  /// The block of keys at `index`.
  WEFT_DEVICE std::int32_t key_block(std::int32_t index) const { return call_.attention.layout.key_block[index]; }
  WEFT_DEVICE std::int32_t kind(std::int32_t index) const { return call_.attention.layout.kind[index]; }
  /// The slice of values of these columns, where they are one.
  WEFT_DEVICE int chunk() const { return at_.chunk; }
  WEFT_DEVICE std::int64_t first_query() const {
    return std::int64_t{item_.block} * call_.attention.layout.tile_query + first_row_;
  }
  /// Begins to copy a slice of a block of keys, or of its values that belong to these columns.
  WEFT_DEVICE void copy_met(std::int32_t key_block, bool is_key, int slice, int to) {
    const AttentionArguments& arguments = call_.attention;
    const std::int32_t key_head = at_.head / heads_of_key(arguments);
    SliceRows rows = slice_rows<Format>(is_key ? arguments.key : arguments.value, at_, key_head,
                                        std::int64_t{key_block} * kSliceRows);
    rows.columns = is_key ? arguments.head_dim : arguments.value_dim;
    rows.there = keys_there(call_, at_.batch, key_block);
    copy_slice<Format, kSliceRows>(lanes_, to, rows, is_key ? slice : at_.chunk * kSlices + slice, call_.is_aligned);
  }

  WEFT_DEVICE void begin() {
    lanes_.run([&](int thread) {
      constexpr float kLowest = std::numeric_limits<float>::lowest() / (kHasTerms ? 2 : 1);  // finite in base 2
      state_[thread] = {{kLowest, kLowest}, {0, 0}, {0, 0}, 0};
      unroll<kSlices>([&](auto slice) { output[slice][thread] = {}; });
    });
  }

  /// A block is met of which every entry is an edge.
  WEFT_DEVICE static Met meet_whole_block() {
    Met met;
    met.is_whole = true;
    return met;
  }
  /// Begins to copy the bits of a kind of blocks, kBitsBytes.
  WEFT_DEVICE void copy_bits(std::int32_t kind, int to) {
    const auto* const from = reinterpret_cast<const unsigned char*>(call_.bits.rows + std::int64_t{kind} * kSliceRows);
    lanes_.run([&](int thread) {
      if (thread < kBitsBytes / 16) {
        lanes_.copy_async(thread, to + 16 * thread, from + 16 * thread, 16);
      }
    });
  }
  /// One whose keys all are, of which the bits are at `place`.
  WEFT_DEVICE Met meet_partial_block(int place) {
    lanes_.run([&](int thread) {
      unroll<2>([&](auto row) {
        const int from = place + (own_row(thread) + 8 * row) * 8;
        edges.words[thread].at[row] = lanes_.template load_shared<std::uint64_t>(thread, from);
      });
    });
    return {};
  }
  /// A block is met.
  WEFT_DEVICE Met meet_block(std::int32_t index) {
    const Met met = meet<true>(call_, at_, item_.block, index);
    find_edges<true, kHasTerms>(lanes_, call_, at_, met, first_row_, edges);
    if constexpr (kHasTerms) {
      lanes_.run([&](int thread) {
        unroll<2>([&](auto row) {
          const std::uint64_t word = edges.words[thread].at[row];
          state_[thread].seen[row] |= static_cast<std::uint32_t>(word) | static_cast<std::uint32_t>(word >> 32);
        });
      });
    }
    return met;
  }

  /// Masks the scores of a block, adds its terms, and finds the greatest of each row.
  WEFT_DEVICE void find_maxima(const Met& met, Each<Scores>& scores) {
    lanes_.run([&](int thread) {
      trace_scores(thread, scores[thread]);
      if (kHasTerms || !met.is_whole) {
        mask_scores(thread, met, scores[thread]);
      }
      unroll<2>([&](auto row) { maximum_[row][thread] = greatest_of(scores[thread], row); });
    });
    unroll<2>([&](auto row) { join_row<false>(lanes_, maximum_[row]); });
  }

  /// The scores become weights: exp(score - maximum), dropped or kept.
  WEFT_DEVICE void soften(const Met& met, Each<Scores>& scores) {
    lanes_.run([&](int thread) {
      is_raised_[thread] = kHasTerms;
      unroll<2>([&](auto row) {
        if constexpr (kHasTerms) {
          raise_maximum(thread, row, maximum_[row][thread]);
        } else {
          raise_scaled_maximum(thread, row, maximum_[row][thread] * scale_);
        }
      });
      float odd[2] = {0, 0};  // of odd columns: sums in two chains
      unroll<32>([&](auto at) {
        const int of_row = at % 4 / 2;
        float& score = scores[thread].at[at / 4][at % 4];
        score = weight_of(score, state_[thread].maximum[of_row]);
        (at % 2 == 0 ? state_[thread].sum : odd)[of_row] += score;
      });
      unroll<2>([&](auto row) { state_[thread].sum[row] += odd[row]; });
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
    lanes_.run_where(is_raised_, [&](int thread) {
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
  RowEdges<Lanes> edges;                    ///< of the block that was met last

 private:
  /// exp(score - maximum). Without terms scores are not scaled yet, and one instruction does both.
  WEFT_DEVICE float weight_of(float score, float maximum) const {
    if constexpr (kHasTerms) {
      return Lanes::exp2((score - maximum) * kLogTwoOfE);  // maxima may be as low as kOwnScore
    }
    return Lanes::exp2(Lanes::multiply_add(score, scale_, -maximum));
  }

  /// A trace of scores that is not finite where one of them is not: two in one instruction without terms, where scores
  /// beyond 1e19 leave such a trace, too.
  WEFT_DEVICE void trace_scores(int thread, const Scores& scores) {
    float& trace = state_[thread].trace;
    unroll<16>([&](auto pair) {
      const float* const at = &scores.at[pair / 2][pair % 2 * 2];
      trace = kHasTerms ? trace + at[0] + at[1] : Lanes::multiply_add(at[0], at[1], trace);
    });
  }
  /// Of a row, in four chains: an instruction waits for the one before.
  template <typename Row>
  WEFT_DEVICE static float greatest_of(const Scores& scores, Row row) {
    float greatest[4];
    unroll<4>([&](auto at) { greatest[at] = scores.at[at / 2][2 * row + at % 2]; });
    unroll<12>(
        [&](auto at) { greatest[at % 4] = Lanes::greater(greatest[at % 4], scores.at[2 + at / 2][2 * row + at % 2]); });
    const float first = Lanes::greater(greatest[0], greatest[1]);
    const float second = Lanes::greater(greatest[2], greatest[3]);
    return Lanes::greater(Lanes::greater(first, second), std::numeric_limits<float>::lowest());
  }
  WEFT_DEVICE void mask_scores(int thread, const Met& met, Scores& scores) {
    const std::uint64_t words[2] = {edges.words[thread].at[0] >> own_column(thread),
                                    edges.words[thread].at[1] >> own_column(thread)};
    unroll<32>([&](auto at) {
      const int of_row = at % 4 / 2;
      const int column = at / 4 * 8 + at % 2;
      float& score = scores.at[at / 4][at % 4];
      if (!met.is_whole && !has_bit(words[of_row], column)) {
        score = -std::numeric_limits<float>::infinity();
      } else if constexpr (kHasTerms) {
        const Entry entry{first_row_ + own_row(thread) + 8 * of_row, column + own_column(thread),
                          ((edges.selves[thread] >> at) & 1) != 0};
        score = edge_score<true>(call_, at_, met, entry, scale_ * score);
      }
    });
  }

  /// Without terms. Sums are scaled anew where the maximum of a row rises, which later blocks seldom do.
  template <typename Row>
  WEFT_DEVICE void raise_scaled_maximum(int thread, Row row, float greatest) {
    RowState& state = state_[thread];
    const float before = state.maximum[row];
    const bool is_raised = greatest > before;
    factor_[row][thread] = is_raised ? Lanes::exp2(before - greatest) : 1.0F;
    state.maximum[row] = is_raised ? greatest : before;
    state.sum[row] *= factor_[row][thread];
    is_raised_[thread] = is_raised_[thread] || is_raised;
  }
  /// What is subtracted from scores, as a natural logarithm.
  WEFT_DEVICE float natural(float maximum) const { return kHasTerms ? maximum : maximum * kLogEOfTwo; }

  template <typename Row>
  WEFT_DEVICE void raise_maximum(int thread, Row row, float greatest) {
    constexpr float kHighest = std::numeric_limits<float>::max();
    RowState& state = state_[thread];
    const float before = state.maximum[row];
    const float joined = greatest > before ? greatest : before;
    state.maximum[row] = joined > kHighest ? kHighest : joined;
    factor_[row][thread] = Lanes::exp2((before - state.maximum[row]) * kLogTwoOfE);
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

  /// Without terms the greatest score of the first block with an edge has weight one; dropout may drop all of a row.
  template <typename Row>
  WEFT_DEVICE static bool sees_nothing(const RowState& state, Row row) {
    return kHasTerms ? state.seen[row] == 0 : state.sum[row] == 0;
  }

  template <typename Row>
  WEFT_DEVICE void store_row(int thread, Row row, int own) {
    const AttentionArguments& arguments = call_.attention;
    const std::int64_t query = std::int64_t{item_.block} * arguments.layout.tile_query + first_row_ + own;
    const RowState& state = state_[thread];
    const bool is_empty = sees_nothing(state, row);
    const float sum =
        state.sum[row] > 0 && !is_lost_sum(state.sum[row]) ? state.sum[row] : std::numeric_limits<float>::quiet_NaN();
    const float factor = is_empty ? 0.0F : 1.0F / sum;
    const std::int64_t to = row_place(arguments.output, at_.batch, at_.head, query);
    if (kIsHalf<Format> && stores_pairs(arguments.output)) {
      each_pair(thread, row, [&](std::int64_t column, float low, float high) {
        std::uint16_t* const at = static_cast<std::uint16_t*>(arguments.output.data) + to + column;
        *reinterpret_cast<std::uint32_t*>(at) = Lanes::template pack<Format>(low * factor, high * factor);
      });
    } else {
      each_column(thread, row, [&](std::int64_t column, float value) {
        store_number<Format, Lanes>(arguments.output.data, to + column, value * factor);
      });
    }
    if (at_.chunk == 0 && thread % 4 == 0) {
      static_cast<float*>(
          arguments.log_sum_exp)[(at_.batch * arguments.heads + at_.head) * arguments.query_length + query] =
          is_empty ? -std::numeric_limits<float>::infinity() : natural(state.maximum[row]) + Lanes::log(sum);
    }
  }

  template <typename Row>
  WEFT_DEVICE void store_part(int thread, Row row, int own) {
    const std::int64_t slot = (at_.batch * call_.attention.heads + at_.head) * call_.rows.slots + item_.slot;
    const std::int64_t to = slot * query_slot_rows(call_) + first_row_ + own;
    each_column(thread, row, [&](std::int64_t column, float value) {
      call_.partials.output[to * call_.attention.value_dim + column] = value;
    });
    if (at_.chunk == 0 && thread % 4 == 0) {
      const bool is_empty = sees_nothing(state_[thread], row);
      call_.partials.maximum[to] =
          is_empty ? -std::numeric_limits<float>::infinity() : natural(state_[thread].maximum[row]);
      call_.partials.sum[to] = state_[thread].sum[row];
    }
  }

  /// Whether two columns of 16 bits are one word of the output, in every row.
  WEFT_DEVICE bool stores_pairs(const Output& output) const {
    const std::int64_t strides = output.batch_stride | output.head_stride | output.row_stride;
    return reinterpret_cast<std::uintptr_t>(output.data) % 4 == 0 && (strides | call_.attention.value_dim) % 2 == 0;
  }
  template <typename Row, typename Store>
  WEFT_DEVICE void each_pair(int thread, Row row, const Store& store) {
    unroll<kSlices * Format::kColumns / 8>([&](auto tile) {
      const std::int64_t column = std::int64_t{at_.chunk} * kSlices * Format::kColumns + 8 * tile + own_column(thread);
      const float* const of = &output[8 * tile / Format::kColumns][thread].at[tile % (Format::kColumns / 8)][2 * row];
      if (column < call_.attention.value_dim) {
        store(column, of[0], of[1]);
      }
    });
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
  float scale_;  ///< of scores; in base 2 where there are no terms
  Each<RowState> state_;
  Each<bool> is_raised_;
  Each<float> maximum_[2];
  Each<float> factor_[2];
  Each<float> sums_;
  Each<bool> is_lost_;
};

}  // namespace weft::kernels::cuda
