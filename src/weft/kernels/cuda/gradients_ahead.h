// SPDX-License-Identifier: Apache-2.0
// The backward pass where tensor cores multiply slices of shared memory by themselves (wgmma): the gradient of a block
// of queries over the blocks of keys that it sees, or those of a block of keys and values over the blocks of queries
// that see it. Both are one walk: scores = own first * met first^T, their gradients from own second * met second^T.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/met_slices.h"
#include "weft/kernels/cuda/score_gradients.h"

namespace weft::kernels::cuda {

/// Whether heads are of one slice, as GradientAheadBlock has them: with a number of slices known, three blocks of
/// threads have registers enough.
template <typename Format>
constexpr bool has_narrow_heads(const DeviceCall& call) {
  return call.attention.head_dim <= Format::kColumns && call.attention.value_dim <= Format::kColumns;
}

/// Of calls without terms but dropout (kHasDraws), with narrow heads. `first` is Q and K, `second` is dO and V: a block
/// owns one of each and meets the others. It sums dQ, or dK and dV.
template <typename Lanes, typename Format, bool kOwnsQueries, bool kHasDraws, bool kIsPlain>
class GradientAheadBlock {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE GradientAheadBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes),
        call_(call),
        at_(at),
        item_(item),
        key_head_(at.head / heads_of_key(call.attention)),
        first_(lanes, 0, own_rows(true)),
        second_(lanes, kSliceBytes, own_rows(false)),
        list_(lanes, call, at, kListPlace),
        met_first_(lanes, met_array(true), at, kOwnsQueries ? key_head_ : at.head),
        met_second_(lanes, met_array(false), at, kOwnsQueries ? key_head_ : at.head),
        kept_(lanes, call, at) {}

  /// Whether the block must run again, carefully: what is not finite along an edge is in the sums, for the log-sum-exp
  /// of its query, or rowsum(dO O), is not finite either.
  WEFT_DEVICE bool run() {
    sum_blocks();
    store();
    lanes_.run([&](int thread) {
      float trace = trace_of<Format, Lanes>(first_sums_, thread);
      if constexpr (!kOwnsQueries) {
        trace += trace_of<Format, Lanes>(second_sums_, thread);
      }
      is_lost_[thread] = is_lost_sum(trace);
    });
    return lanes_.any(is_lost_);
  }

 private:
  // Own slices, two pairs of slices that are met in turn, twice what is known of queries, the list.
  static constexpr int kPairBytes = 2 * kSliceBytes;
  static constexpr int kRingPlace = kPairBytes;
  static constexpr int kStatePlace = kRingPlace + 2 * kPairBytes;
  static constexpr int kListPlace = kStatePlace + 2 * kStateBytes;
  static_assert(kListPlace + MetList<Lanes>::kBytes <= shared_bytes<Format>(2));

  WEFT_DEVICE std::int64_t tile() const { return kOwnsQueries ? call_.attention.layout.tile_query : kSliceRows; }
  WEFT_DEVICE std::int64_t met_tile() const { return kOwnsQueries ? kSliceRows : call_.attention.layout.tile_query; }
  WEFT_DEVICE std::int64_t first_own() const { return std::int64_t{item_.block} * tile(); }
  WEFT_DEVICE std::uint64_t own_there() const {
    return kOwnsQueries ? queries_there(call_, item_.block) : keys_there(call_, at_.batch, item_.block);
  }
  WEFT_DEVICE const Input& array_of(bool is_first, bool of_queries) const {
    const AttentionArguments& arguments = call_.attention;
    const Input& queries = is_first ? arguments.query : call_.gradients.output_gradient;
    const Input& keys = is_first ? arguments.key : arguments.value;
    return of_queries ? queries : keys;
  }
  WEFT_DEVICE const Input& met_array(bool is_first) const { return array_of(is_first, !kOwnsQueries); }
  WEFT_DEVICE SliceRows rows_of(bool is_first, bool of_queries, std::int64_t first_row) const {
    SliceRows rows =
        slice_rows<Format>(array_of(is_first, of_queries), at_, of_queries ? at_.head : key_head_, first_row);
    rows.columns = is_first ? call_.attention.head_dim : call_.attention.value_dim;
    return rows;
  }
  WEFT_DEVICE SliceRows own_rows(bool is_first) const {
    SliceRows rows = rows_of(is_first, kOwnsQueries, first_own());
    rows.there = own_there();
    return rows;
  }

  WEFT_DEVICE void sum_blocks() {
    begin();
    copy_own();
    const std::int32_t count = item_.end - item_.begin;
    if (count > 0) {
      fill(list_.template first<kOwnsQueries>(item_), 0);
      list_.template read<kOwnsQueries>(item_, 0);
    }
    turn_states();
    WEFT_DEVICE_LOOP
    for (std::int32_t number = 0; number < count; ++number) {
      add_block(number, number + 1 < count);
    }
  }

  WEFT_DEVICE void copy_own() {
    if constexpr (kIsPlain) {
      const std::int32_t head = kOwnsQueries ? at_.head : key_head_;
      PlainCopies<Format, Lanes>(lanes_, array_of(true, kOwnsQueries), at_, head).copy(item_.block, 0, first_.place(0));
      PlainCopies<Format, Lanes>(lanes_, array_of(false, kOwnsQueries), at_, head)
          .copy(item_.block, 0, second_.place(0));
    } else {
      first_.copy(call_.is_aligned);
      second_.copy(call_.is_aligned);
    }
  }

  WEFT_DEVICE void begin() {
    is_own_whole_ = kIsPlain || kOwnsQueries || own_there() == kAllRows;
    lanes_.run([&](int thread) {
      first_sums_[thread] = {};
      if constexpr (kOwnsQueries) {
        unroll<2>(
            [&](auto row) { owned_[row][thread] = query_state(call_, at_, first_own() + own_row(thread) + 8 * row); });
      } else {
        second_sums_[thread] = {};
      }
    });
  }
  /// What was read of the queries that are owned, once other reads are under way, too.
  WEFT_DEVICE void turn_states() {
    if constexpr (kOwnsQueries) {
      lanes_.run(
          [&](int thread) { unroll<2>([&](auto row) { owned_[row][thread] = in_base_two(owned_[row][thread]); }); });
    }
  }
  static WEFT_DEVICE QueryState in_base_two(const QueryState& state) {
    return {-(state.log_sum_exp * kLogTwoOfE), state.delta};
  }

  /// Begins to copy the slices of a block, and to read what is known of its queries.
  WEFT_DEVICE void fill(const MetBlock& met, std::int32_t number) {
    const int to = pair_place(number);
    if (kIsPlain || (has_plain_rows() && met.there == kAllRows)) {
      met_first_.copy(met.block, 0, to);
      met_second_.copy(met.block, 0, to + kSliceBytes);
    } else {
      copy_some(true, to, met);
      copy_some(false, to + kSliceBytes, met);
    }
    lanes_.commit();
    if constexpr (!kOwnsQueries) {
      lanes_.run([&](int thread) {
        if (thread < kSliceRows) {
          owned_[0][thread] = query_state(call_, at_, met.block * met_tile() + thread);  // nobody waits for it yet
        }
      });
    }
  }
  static WEFT_DEVICE int pair_place(std::int32_t number) { return kRingPlace + number % 2 * kPairBytes; }
  WEFT_DEVICE bool has_plain_rows() const {
    return call_.is_aligned && call_.attention.head_dim == Format::kColumns &&
           call_.attention.value_dim == Format::kColumns;
  }
  WEFT_DEVICE void copy_some(bool is_first, int to, const MetBlock& met) {
    SliceRows rows = rows_of(is_first, !kOwnsQueries, met.block * met_tile());
    rows.there = met.there;
    copy_slice<Format, kSliceRows>(lanes_, to, rows, 0, call_.is_aligned);
  }

  WEFT_DEVICE void fill_next(std::int32_t number, bool has_next) {
    if (has_next) {
      list_.template read<kOwnsQueries>(item_, number + 1);
      fill(list_.at(number + 1), number + 1);
    }
  }
  WEFT_DEVICE void add_block(std::int32_t number, bool has_next) {
    const int place = pair_place(number);
    const int state = state_place(number);
    lanes_.template wait<0>();
    if constexpr (!kOwnsQueries) {
      note_queries(state);
    }
    lanes_.publish();
    lanes_.barrier();
    if constexpr (!kIsPlain) {  // it would take registers behind them
      fill_next(number, has_next);
    }
    lanes_.begin_products(scores_, incoming_);
    lanes_.template multiply_slices<Format>(scores_, first_.place(0), place, false);
    lanes_.commit_products();
    lanes_.template multiply_slices<Format>(incoming_, second_.place(0), place + kSliceBytes, false);
    lanes_.commit_products();
    if constexpr (kIsPlain) {
      fill_next(number, has_next);
    }
    if constexpr (kHasDraws) {
      kept_.draw(first_own(), list_.at(number).block * met_tile());
    }
    find_probabilities(list_.at(number), state);
    find_gradients(state);
    add_results(place);
  }

  /// What is known of the queries that are met: -log-sum-exp in base two, then rowsum(dO O), 64 of each.
  static WEFT_DEVICE int state_place(std::int32_t number) { return kStatePlace + number % 2 * kStateBytes; }
  WEFT_DEVICE void note_queries(int state) {
    lanes_.run([&](int thread) {
      if (thread < kSliceRows) {
        const QueryState query = in_base_two(owned_[0][thread]);
        lanes_.store_shared(thread, state + 4 * thread, query.log_sum_exp);
        lanes_.store_shared(thread, state + 4 * (kSliceRows + thread), query.delta);
      }
    });
  }
  /// Of two neighbours; `of` is 0 for the log-sum-exp and 1 for rowsum(dO O).
  struct alignas(8) Two {
    float at[2];
  };
  WEFT_DEVICE Two known(int thread, int state, int tile, int of) {
    if constexpr (kOwnsQueries) {
      return of == 0 ? Two{{owned_[0][thread].log_sum_exp, owned_[1][thread].log_sum_exp}}
                     : Two{{owned_[0][thread].delta, owned_[1][thread].delta}};
    } else {
      return lanes_.template load_shared<Two>(thread, state + 4 * (of * kSliceRows + 8 * tile + own_column(thread)));
    }
  }

  /// Scores become probabilities; those that are no edges become zero.
  WEFT_DEVICE void find_probabilities(const MetBlock& met, int state) {
    const std::uint64_t* bits = bits_of(call_, met, kOwnsQueries);
    const bool is_whole = bits == nullptr && (kIsPlain || (met.there == kAllRows && is_own_whole_));
    Each<RowWords> edges;
    lanes_.run([&](int thread) {
      edges[thread] = {};
      if (!is_whole) {
        const std::uint64_t own = kIsPlain ? kAllRows : own_there();
        const std::uint64_t there = kIsPlain ? kAllRows : met.there;
        unroll<2>([&](auto row) {
          const int at = own_row(thread) + 8 * row;
          const std::uint64_t word = bits == nullptr ? there : bits[at] & there;
          edges[thread].at[row] = (has_bit(own, at) ? word : 0) >> own_column(thread);
        });
      }
    });
    lanes_.template wait_products<1>(scores_);
    if (is_whole) {
      lanes_.run([&](int thread) { exponentials<false>(thread, state, {}); });
    } else {
      lanes_.run([&](int thread) { exponentials<true>(thread, state, edges[thread]); });
    }
  }
  template <bool kIsMasked>
  WEFT_DEVICE void exponentials(int thread, int state, const RowWords& edges) {
    const float scale = static_cast<float>(call_.attention.scale) * kLogTwoOfE;
    unroll<8>([&](auto tile) {
      const Two log_sum_exp = known(thread, state, tile, 0);
      unroll<4>([&](auto at) {
        const int row = at / 2;
        const int column = at % 2;
        float& score = scores_[thread].at[tile][at];
        const float exponent = Lanes::multiply_add(score, scale, log_sum_exp.at[kOwnsQueries ? row : column]);
        const float probability = Lanes::exp2(exponent);
        score = !kIsMasked || has_bit(edges.at[row], 8 * tile + column) ? probability : 0.0F;
      });
    });
  }

  /// Gradients of scores, and both as weights.
  WEFT_DEVICE void find_gradients(int state) {
    lanes_.template wait_products<0>(incoming_);
    lanes_.run([&](int thread) {
      unroll<8>([&](auto tile) {
        const Two delta = known(thread, state, tile, 1);
        unroll<2>([&](auto row) {
          float* const probability = &scores_[thread].at[tile][2 * row];
          const float* const incoming = &incoming_[thread].at[tile][2 * row];
          float gradient[2];
          unroll<2>([&](auto column) {
            const float of_query = delta.at[kOwnsQueries ? row : column];
            if constexpr (kHasDraws) {
              const float kept = kept_.scale(thread, tile, 2 * row + column);
              gradient[column] = probability[column] * Lanes::multiply_add(incoming[column], kept, -of_query);
              probability[column] *= kept;
            } else {
              gradient[column] = probability[column] * (incoming[column] - of_query);
            }
          });
          const int to = tile % 2 * 2 + row;
          gradients_[thread].at[tile / 2][to] = Lanes::template pack<Format>(gradient[0], gradient[1]);
          if constexpr (!kOwnsQueries) {
            probabilities_[thread].at[tile / 2][to] = Lanes::template pack<Format>(probability[0], probability[1]);
          }
        });
      });
    });
  }

  WEFT_DEVICE void add_results(int place) {
    if constexpr (kOwnsQueries) {
      lanes_.begin_products(first_sums_, gradients_);
      lanes_.template multiply_weights<Format>(first_sums_, gradients_, place);
      lanes_.commit_products();
      lanes_.template wait_products<0>(first_sums_);
    } else {
      lanes_.begin_products(first_sums_, gradients_, second_sums_, probabilities_);
      lanes_.template multiply_weights<Format>(second_sums_, probabilities_, place + kSliceBytes);
      lanes_.template multiply_weights<Format>(first_sums_, gradients_, place);
      lanes_.commit_products();
      lanes_.template wait_products<0>(first_sums_, second_sums_);
    }
  }

  WEFT_DEVICE void store() {
    const AttentionGradients& gradients = call_.gradients;
    const auto scale = static_cast<float>(call_.attention.scale);
    if constexpr (kOwnsQueries) {
      store_sums(first_sums_, gradients.query_gradient, call_.partials.query, call_.attention.head_dim, scale);
    } else {
      if constexpr (kIsPlain) {  // computed again, rather than kept in a register while blocks are met
        key_head_ = key_head_of(call_.attention, Lanes::forget(at_.head));
      }
      store_sums(first_sums_, gradients.key_gradient, call_.partials.key, call_.attention.head_dim, scale);
      store_sums(second_sums_, gradients.value_gradient, call_.partials.value, call_.attention.value_dim, 1);
    }
  }
  WEFT_DEVICE void store_sums(const Each<ValueSums<Format>>& sums, const Output& output, float* partial,
                              std::int64_t width, float scale) {
    const std::int64_t slots = kOwnsQueries ? call_.rows.slots : call_.columns.slots;
    const std::int64_t slot = (at_.batch * call_.attention.heads + at_.head) * slots + item_.slot;
    const std::int64_t length = kOwnsQueries ? call_.attention.query_length : call_.attention.key_length;
    const std::int64_t left = first_own() + tile() < length ? tile() : length - first_own();
    lanes_.run([&](int thread) {
      unroll<2>([&](auto row) {
        const int own = own_row(thread) + 8 * row;
        if (own >= left) {
          return;
        }
        if (item_.slot < 0) {
          auto* const to = static_cast<Stored<Format>*>(output.data);
          const std::int64_t place =
              row_place(output, at_.batch, kOwnsQueries ? at_.head : key_head_, first_own() + own);
          store_row<Format, Lanes>(to + place, sums[thread], thread, row, width, scale);
        } else {
          store_row<Float32Format, Lanes>(partial + (slot * kSliceRows + own) * width, sums[thread], thread, row, width,
                                          1);
        }
      });
    });
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  Place at_;
  WorkItem item_;
  std::int32_t key_head_;
  OwnTile<Format, Lanes> first_;
  OwnTile<Format, Lanes> second_;
  MetList<Lanes> list_;
  PlainCopies<Format, Lanes> met_first_;
  PlainCopies<Format, Lanes> met_second_;
  KeptEntries<Lanes, kOwnsQueries> kept_;
  bool is_own_whole_ = false;  ///< or what others have does not matter
  Each<QueryState> owned_[2];
  Each<Scores> scores_;
  Each<Scores> incoming_;
  Each<PackedWeights> probabilities_;
  Each<PackedWeights> gradients_;
  Each<ValueSums<Format>> first_sums_;
  Each<ValueSums<Format>> second_sums_;
  Each<bool> is_lost_;
};

}  // namespace weft::kernels::cuda
