// SPDX-License-Identifier: Apache-2.0
// The backward pass between its products: probabilities again from scores and log-sum-exp, and the gradients of scores.
// Both passes have it, that over queries and that over keys.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/cuda/own_rows.h"

namespace weft::kernels::cuda {

/// What the backward pass knows of a query.
struct alignas(8) QueryState {
  float log_sum_exp;
  float delta;  ///< rowsum(dO O)
};

/// Of query `row` of the head; zeros beyond the last one.
WEFT_DEVICE QueryState query_state(const DeviceCall& call, const Place& at, std::int64_t row) {
  const std::int64_t length = call.attention.query_length;
  if (row >= length) {
    return {0, 0};
  }
  const std::int64_t place = (at.batch * call.attention.heads + at.head) * length + row;
  return {static_cast<const float*>(call.attention.log_sum_exp)[place], call.delta[place]};
}

inline constexpr int kStateBytes = kSliceRows * 8;

/// The scores of one block and the products of output gradients with values, raw, which turn() replaces by dropped
/// probabilities and by the gradients of scores.
template <typename Lanes, bool kOwnsQueries, bool kHasTerms, bool kCareful>
class ScoreGradients {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  /// `place`: kStateBytes of shared memory, where blocks of queries are met. `screen_place`: what careful runs have for
  /// their screens.
  WEFT_DEVICE ScoreGradients(Lanes& lanes, const DeviceCall& call, const Place& at, int first_row, int place,
                             int screen_place)
      : lanes_(lanes), call_(call), at_(at), first_row_(first_row), place_(place), screen_place_(screen_place) {}

  /// Forgets what was not finite: a run begins. `first` is the first query that is owned, where queries are.
  WEFT_DEVICE void begin(std::int64_t first) {
    lanes_.run([&](int thread) {
      trace_[thread] = 0;
      if constexpr (kCareful) {
        lost_first_[thread] = {};
        lost_second_[thread] = {};
      }
      if constexpr (kOwnsQueries) {
        unroll<2>([&](auto row) { owned_[row][thread] = query_state(call_, at_, first + own_row(thread) + 8 * row); });
      }
    });
  }

  /// A block is met: before a barrier.
  WEFT_DEVICE void begin_block(const Met& met) {
    lanes_.run([&](int thread) {
      scores[thread] = {};
      incoming[thread] = {};
      if constexpr (kCareful) {
        lost_scores_[thread] = 0;
        lost_incoming_[thread] = 0;
      }
    });
    find_edges<kOwnsQueries, kHasTerms>(lanes_, call_, at_, met, first_row_, edges);
    if constexpr (kIsScarce) {
      lanes_.run([&](int thread) { lanes_.store_shared(thread, edges_place(thread), edges.words[thread]); });
    }
  }

  /// What is known of the queries of the block that is met: between two barriers before turn().
  template <typename Format>
  WEFT_DEVICE void note_queries(const Met& met) {
    lanes_.run([&](int thread) {
      for (int row = thread; row < kSliceRows; row += kThreads<Format>) {
        lanes_.store_shared(thread, place_ + 8 * row, query_state(call_, at_, met.first_query + row));
      }
    });
  }

  /// Notes the rows of a slice, of a product of scores or of values, that a careful run has found lost.
  template <typename Format>
  WEFT_DEVICE void note_lost(const Screen<Format, Lanes>& screen, int slot, bool is_score) {
    lanes_.run([&](int thread) {
      const std::uint64_t rows = screen.rows(thread, slot);
      (is_score ? lost_scores_ : lost_incoming_)[thread] |= rows;
    });
  }
  /// The same of the tiles that are owned: rows of Q (of K), and of dO (of V).
  WEFT_DEVICE Each<RowFlags>& lost_first() { return lost_first_; }
  WEFT_DEVICE Each<RowFlags>& lost_second() { return lost_second_; }
  WEFT_DEVICE void spoil_scores() {
    spoil(lanes_, scores, lost_first_, lost_scores_);
    spoil(lanes_, incoming, lost_second_, lost_incoming_);
  }

  WEFT_DEVICE void turn(const Met& met) {
    lanes_.run([&](int thread) {
      if constexpr (kIsScarce) {
        trace_[thread] = 0;
        edges.words[thread] = lanes_.template load_shared<RowWords>(thread, edges_place(thread));
      }
      unroll<16>([&](auto pair) {
        const int row = pair % 2;
        const int own = first_row_ + own_row(thread) + 8 * row;
        const int other = pair / 2 * 8 + own_column(thread);
        float kept[2] = {1, 1};
        if constexpr (kHasTerms) {
          if (call_.draws.is_on) {
            kept_pair<kOwnsQueries>(call_, at_, met, own, other, kept);
          }
        }
        unroll<2>([&](auto column) {
          const bool is_self = ((edges.selves[thread] >> (pair / 2 * 4 + row * 2 + column)) & 1) != 0;
          turn_entry(thread, met, {{own, other + column, is_self}, row, kept[column]},
                     scores[thread].at[pair / 2][2 * row + column], incoming[thread].at[pair / 2][2 * row + column]);
        });
      });
      if constexpr (kIsScarce) {
        incoming[thread].at[0][0] += trace_[thread] * 0;
      }
    });
  }

  /// Whether a score was not finite, or one of the product with values.
  WEFT_DEVICE float trace(int thread) const { return kIsScarce ? 0.0F : trace_[thread]; }

  Each<Scores> scores;
  Each<Scores> incoming;
  RowEdges<Lanes> edges;

 private:
  /// During the products of hot runs over keys registers are scarce. There edges lie where a careful run would have its
  /// screens, and a trace that is not finite goes into a sum of dK, which is looked at, too.
  static constexpr bool kIsScarce = !kOwnsQueries && !kCareful;
  WEFT_DEVICE int edges_place(int thread) const { return screen_place_ + thread * static_cast<int>(sizeof(RowWords)); }

  struct Turned : Entry {
    int row;  ///< 0 or 1: which of the thread's two
    float kept;
  };
  WEFT_DEVICE void turn_entry(int thread, const Met& met, const Turned& at, float& score, float& gradient) {
    trace_[thread] += score + gradient;
    QueryState query;
    if constexpr (kOwnsQueries) {
      query = owned_[at.row][thread];
    } else {
      query = lanes_.template load_shared<QueryState>(thread, place_ + 8 * at.other);
    }
    const bool is_edge = met.is_whole || has_bit(edges.words[thread].at[at.row], at.other);
    const auto scale = static_cast<float>(call_.attention.scale);
    float exponent;
    if constexpr (kHasTerms) {
      const float found = is_edge ? edge_score<kOwnsQueries>(call_, at_, met, at, scale * score) : 0.0F;
      exponent = (found - query.log_sum_exp) * kLogTwoOfE;  // both may be as low as kOwnScore
    } else {
      exponent = Lanes::multiply_add(score, scale * kLogTwoOfE, -(query.log_sum_exp * kLogTwoOfE));
    }
    const float probability = Lanes::exp2(exponent);
    score = is_edge ? probability * at.kept : 0.0F;
    gradient = is_edge ? probability * (at.kept * gradient - query.delta) : 0.0F;
    if constexpr (kHasTerms) {
      if (is_edge && at.is_self) {
        gradient *= 0;  // a constant score has none; NaN stays
      }
    }
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  Place at_;
  int first_row_;
  int place_;
  int screen_place_;
  Each<QueryState> owned_[2];
  Each<float> trace_;
  Each<RowFlags> lost_first_;
  Each<RowFlags> lost_second_;
  Each<std::uint64_t> lost_scores_;
  Each<std::uint64_t> lost_incoming_;
};

/// Adds 0 times each sum: NaN where one is not finite.
template <typename Format, typename Lanes>
WEFT_DEVICE float trace_of(const typename Lanes::template Each<ValueSums<Format>>& sums, int thread) {
  float trace = 0;
  unroll<Format::kColumns / 8 * 4>([&](auto at) { trace += sums[thread].at[at / 4][at % 4] * 0; });
  return trace;
}

/// The slice that is copied as number `step` of `slices`, where slice `last` is the last.
WEFT_DEVICE int slice_before(int step, int slices, int last) {
  return step == slices - 1 ? last : (step < last ? step : step + 1);
}

}  // namespace weft::kernels::cuda
