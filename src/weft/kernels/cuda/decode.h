// SPDX-License-Identifier: Apache-2.0
// One query a row, as a token that is decoded: a thread block has a few blocks of keys of one row, multiplies the keys
// that the row sees and no others, and leaves its sums to be joined. It reads each number once, so that its time is
// that of the memory. Products are sums of float32 in all dtypes.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "weft/kernels/cuda/own_rows.h"
#include "weft/kernels/cuda/plan.h"

namespace weft::kernels::cuda {

/// Threads that share a row: each has sixteen bytes of a slice.
inline constexpr int kRowThreads = kSliceRowBytes / 16;

/// The numbers of sixteen bytes, and sums of them.
template <typename Format>
struct ChunkNumbers {
  float at[kChunk<Format>];
};

inline constexpr int kDecodeThreads = 128;

// Shared memory: the query, a score or weight of each key, sums of the groups of threads.
inline constexpr int kScorePlace = 4 * static_cast<int>(kMaximumHeadDim);
inline constexpr int kSumPlace = kScorePlace + 4 * static_cast<int>(kLongestDecodePart) * kSliceRows;
template <typename Format>
inline constexpr int kDecodeShared = kSumPlace + 4 * kDecodeThreads * kChunk<Format>;

template <typename Lanes, typename Format>
class DecodeBlock {
  template <typename T>
  using Each = typename Lanes::template Each<T>;
  using Numbers = ChunkNumbers<Format>;

 public:
  /// `item` has at most kLongestDecodePart blocks.
  WEFT_DEVICE DecodeBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : lanes_(lanes), call_(call), at_(at), item_(item), keys_((item.end - item.begin) * kSliceRows) {}

  WEFT_DEVICE void run() {
    load_query();
    if (has_positions(call_.attention)) {
      seen_ = HeadPositions(call_, at_).query(static_cast<std::int32_t>(query()));
    }
    Met met = item_.begin < item_.end ? meet<true>(call_, at_, item_.block, item_.begin) : Met{};
    for (std::int32_t index = item_.begin; index < item_.end; ++index) {
      // What is known of the next block comes while the keys of this one do.
      const Met next = index + 1 < item_.end ? meet<true>(call_, at_, item_.block, index + 1) : met;
      add_scores_of_block(met, (index - item_.begin) * kSliceRows);
      met = next;
    }
    has_edges_ = lanes_.any(has_edge_);
    soften();
    for (int slice = 0; slice < slices_of<Format>(call_.attention.value_dim); ++slice) {
      sum_values(slice);
    }
  }

 private:
  static constexpr int kThreads = kDecodeThreads;
  static constexpr int kGroups = kThreads / kRowThreads;
  static constexpr int kRounds = kSliceRows / kGroups;  // rows of a block that a thread has a share of
  static WEFT_DEVICE int row_of(int thread, int round) { return round * kGroups + thread / kRowThreads; }
  static WEFT_DEVICE float no_edge() { return -1; }  // in place of a weight

  WEFT_DEVICE std::int64_t query() const { return std::int64_t{item_.block} * call_.attention.layout.tile_query; }
  WEFT_DEVICE std::int64_t key_head() const { return key_head_of(call_.attention, at_.head); }
  WEFT_DEVICE static int score_place(int key) { return kScorePlace + 4 * key; }

  WEFT_DEVICE void load_query() {
    lanes_.run([&](int thread) {
      has_edge_[thread] = false;
      const Input& array = call_.attention.query;
      const std::int64_t row = row_place(array, at_.batch, at_.head, query());
      for (int column = thread; column < kMaximumHeadDim; column += kThreads) {
        const bool is_there = column < call_.attention.head_dim;
        lanes_.store_shared(thread, 4 * column, is_there ? load_number<Format, Lanes>(array.data, row + column) : 0.0F);
      }
    });
    lanes_.barrier();
  }

  /// A thread's sixteen bytes of each of its rows of a slice, all under way together: a thread that waits for one
  /// before it asks for the next keeps memory at half of its rate. Zeros where is_wanted(round) is not so, and beyond
  /// the last column.
  template <typename Wanted>
  WEFT_DEVICE void load(const SliceRows& rows, int slice, int thread, const Wanted& is_wanted,
                        Sixteen (&to)[kRounds]) const {
    const RowChunk of = row_chunk<Format>(rows, slice, thread % kRowThreads);
    const unsigned char* const first = rows.data + of.offset;
    unroll<kRounds>([&](auto round) { to[round] = {}; });
    if (call_.is_aligned && of.bytes == 16) {
      unroll<kRounds>([&](auto round) {
        if (is_wanted(round)) {
          to[round] = *reinterpret_cast<const Sixteen*>(first + row_of(thread, round) * rows.stride);
        }
      });
    } else {
      unroll<kRounds>([&](auto round) {
        if (is_wanted(round)) {
          to[round] = gathered(first + row_of(thread, round) * rows.stride, of.bytes);
        }
      });
    }
  }
  WEFT_DEVICE static Sixteen gathered(const unsigned char* address, int bytes) {
    using Element = typename Format::Element;
    constexpr int kOfWord = 4 / static_cast<int>(sizeof(Element));
    Sixteen sixteen{};
    unroll<kChunk<Format>>([&](auto at) {
      if (at * static_cast<int>(sizeof(Element)) < bytes) {
        const std::uint32_t element = reinterpret_cast<const Element*>(address)[at];
        sixteen.word[at / kOfWord] |= element << (at % kOfWord * 16);
      }
    });
    return sixteen;
  }
  template <typename Index>
  WEFT_DEVICE static float number_of(const Sixteen& bits, Index at) {
    if constexpr (kIsHalf<Format>) {
      return Lanes::template unpack<Format>(static_cast<std::uint16_t>(bits.word[at / 2] >> (at % 2 * 16)));
    } else {
      return std::bit_cast<float>(bits.word[at]);
    }
  }

  /// Which of a thread's keys are edges, and which of these is the query itself.
  WEFT_DEVICE void find_edges_of_block(int thread, const Met& met) {
    const std::uint64_t edges = stored_edges(met, 0);
    unroll<kRounds>([&](auto round) {
      is_edge_[round][thread] = has_bit(edges, row_of(thread, round));
      is_self_[round][thread] = false;
    });
    if (has_positions(call_.attention)) {
      const HeadPositions positions(call_, at_);
      unroll<kRounds>([&](auto round) {
        const std::int32_t key = positions.key(met.first_key + row_of(thread, round));
        is_edge_[round][thread] = is_edge_[round][thread] && seen_.sees(key);
        is_self_[round][thread] = key == seen_.own;
      });
    }
  }

  /// Scores of a block's keys, eight threads a key. What is not finite, in the key or in the query, makes the score
  /// NaN.
  WEFT_DEVICE void add_scores_of_block(const Met& met, int first) {
    SliceRows rows = slice_rows<Format>(call_.attention.key, at_, key_head(), met.first_key);
    rows.columns = call_.attention.head_dim;
    lanes_.run([&](int thread) {
      find_edges_of_block(thread, met);
      unroll<kRounds>([&](auto round) { sums_[round][thread] = 0; });
      for (int slice = 0; slice < slices_of<Format>(rows.columns); ++slice) {
        add_products(thread, rows, slice);
      }
    });
    unroll<3>([&](auto bit) {
      unroll<kRounds>([&](auto round) {
        lanes_.shuffle(other_, sums_[round], [&](int thread) { return thread % kWarp ^ (1 << bit); });
        lanes_.run([&](int thread) { sums_[round][thread] += other_[thread]; });
      });
    });
    lanes_.run([&](int thread) { unroll<kRounds>([&](auto round) { store_score(thread, met, round, first); }); });
  }

  WEFT_DEVICE void add_products(int thread, const SliceRows& rows, int slice) {
    Sixteen chunks[kRounds];
    load(rows, slice, thread, [&](auto round) { return is_edge_[round][thread]; }, chunks);
    const int column = slice * Format::kColumns + thread % kRowThreads * kChunk<Format>;
    Numbers query;
    unroll<kChunk<Format>>(
        [&](auto at) { query.at[at] = lanes_.template load_shared<float>(thread, 4 * (column + at)); });
    unroll<kRounds>([&](auto round) { sums_[round][thread] += dot_of(chunks[round], query); });
  }
  WEFT_DEVICE static float dot_of(const Sixteen& chunk, const Numbers& query) {
    float sum = 0;
    float lost = 0;
    unroll<kChunk<Format>>([&](auto at) {
      const float number = number_of(chunk, at);
      sum += number * query.at[at];
      lost += number * 0 + query.at[at] * 0;
    });
    return sum + lost;
  }

  template <typename Round>
  WEFT_DEVICE void store_score(int thread, const Met& met, Round round, int first) {
    const bool has_edge = is_edge_[round][thread];
    has_edge_[thread] = has_edge_[thread] || has_edge;
    if (thread % kRowThreads == 0) {
      const int key = row_of(thread, round);
      const float score = static_cast<float>(call_.attention.scale) * sums_[round][thread];
      lanes_.store_shared(thread, score_place(first + key),
                          has_edge ? edge_score<true>(call_, at_, met, {0, key, is_self_[round][thread]}, score)
                                   : -std::numeric_limits<float>::infinity());
      lanes_.store_shared(thread, kSumPlace + 4 * (first + key), has_edge ? 1.0F : 0.0F);
    }
  }

  /// Scores become weights; every warp has the greatest of all, and their sum.
  WEFT_DEVICE void soften() {
    constexpr float kHighest = std::numeric_limits<float>::max();
    lanes_.run([&](int thread) {
      maximum_[thread] = std::numeric_limits<float>::lowest();
      for (int key = thread % kWarp; key < keys_; key += kWarp) {
        const auto score = lanes_.template load_shared<float>(thread, score_place(key));
        maximum_[thread] = score > maximum_[thread] ? score : maximum_[thread];
      }
    });
    join_warp<false>(maximum_);
    lanes_.run([&](int thread) { maximum_[thread] = maximum_[thread] > kHighest ? kHighest : maximum_[thread]; });
    lanes_.barrier();
    lanes_.run([&](int thread) {
      for (int key = thread; key < keys_; key += kThreads) {
        const auto score = lanes_.template load_shared<float>(thread, score_place(key));
        const bool has_edge = lanes_.template load_shared<float>(thread, kSumPlace + 4 * key) != 0;
        const float weight = Lanes::exp2((score - maximum_[thread]) * kLogTwoOfE);
        lanes_.store_shared(thread, score_place(key), has_edge ? weight : no_edge());
      }
    });
    lanes_.barrier();
    lanes_.run([&](int thread) {
      sum_[thread] = 0;
      for (int key = thread % kWarp; key < keys_; key += kWarp) {
        const auto weight = lanes_.template load_shared<float>(thread, score_place(key));
        sum_[thread] += weight == no_edge() ? 0.0F : weight;
      }
    });
    join_warp<true>(sum_);
  }

  template <bool kIsSum>
  WEFT_DEVICE void join_warp(Each<float>& values) {
    unroll<5>([&](auto bit) {
      lanes_.shuffle(other_, values, [&](int thread) { return thread % kWarp ^ (1 << bit); });
      lanes_.run([&](int thread) {
        const float greatest = other_[thread] > values[thread] ? other_[thread] : values[thread];
        values[thread] = kIsSum ? values[thread] + other_[thread] : greatest;
      });
    });
  }

  /// The weighted values of a slice's columns: groups of eight threads take every sixteenth key, and are summed.
  WEFT_DEVICE void sum_values(int slice) {
    lanes_.run([&](int thread) {
      Numbers sums{};
      for (std::int32_t index = item_.begin; index < item_.end; ++index) {
        add_values_of_block(thread, slice, index, sums);
      }
      unroll<kChunk<Format>>(
          [&](auto at) { lanes_.store_shared(thread, kSumPlace + 4 * (thread * kChunk<Format> + at), sums.at[at]); });
    });
    lanes_.barrier();
    lanes_.run([&](int thread) {
      const std::int64_t column = std::int64_t{slice} * Format::kColumns + thread;
      if (thread < Format::kColumns && column < call_.attention.value_dim) {
        float sum = 0;
        for (int group = 0; group < kGroups; ++group) {
          sum += lanes_.template load_shared<float>(thread, kSumPlace + 4 * (group * Format::kColumns + thread));
        }
        store(thread, column, sum);
      }
    });
    lanes_.barrier();
  }

  WEFT_DEVICE void add_values_of_block(int thread, int slice, std::int32_t index, Numbers& sums) const {
    const std::int64_t key_block = call_.attention.layout.key_block[index];
    SliceRows rows = slice_rows<Format>(call_.attention.value, at_, key_head(), key_block * kSliceRows);
    rows.columns = call_.attention.value_dim;
    float weights[kRounds];
    unroll<kRounds>([&](auto round) {
      const int key = (index - item_.begin) * kSliceRows + row_of(thread, round);
      weights[round] = lanes_.template load_shared<float>(thread, score_place(key));
    });
    Sixteen chunks[kRounds];
    load(rows, slice, thread, [&](auto round) { return weights[round] != no_edge(); }, chunks);
    unroll<kRounds>([&](auto round) {
      if (weights[round] != no_edge()) {
        unroll<kChunk<Format>>([&](auto at) { sums.at[at] += weights[round] * number_of(chunks[round], at); });
      }
    });
  }

  /// One column of the output, or of a part; the first column also leaves the sum of weights.
  WEFT_DEVICE void store(int thread, std::int64_t column, float value) {
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    const AttentionArguments& arguments = call_.attention;
    const std::int64_t head = at_.batch * arguments.heads + at_.head;
    const float sum = sum_[thread];
    if (item_.slot < 0) {
      const float answer = sum > 0 && !is_lost_sum(sum) ? sum : std::numeric_limits<float>::quiet_NaN();
      store_number<Format, Lanes>(arguments.output.data,
                                  row_place(arguments.output, at_.batch, at_.head, query()) + column,
                                  has_edges_ ? value / answer : 0.0F);
      if (column == 0) {
        static_cast<float*>(arguments.log_sum_exp)[head * arguments.query_length + query()] =
            has_edges_ ? maximum_[thread] + Lanes::log(answer) : -kInfinite;
      }
      return;
    }
    const std::int64_t row = head * call_.rows.slots + item_.slot;  // of slots that have one row: query_slot_rows()
    call_.partials.output[row * arguments.value_dim + column] = value;
    if (column == 0) {
      call_.partials.maximum[row] = has_edges_ ? maximum_[thread] : -kInfinite;
      call_.partials.sum[row] = sum;
    }
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  Place at_;
  WorkItem item_;
  int keys_;
  bool has_edges_ = false;
  Each<bool> has_edge_;
  SeenPositions seen_;  ///< by the query, where rows have positions
  Each<bool> is_edge_[kRounds];
  Each<bool> is_self_[kRounds];
  Each<float> sums_[kRounds];
  Each<float> sum_;
  Each<float> other_;
  Each<float> maximum_;
};

}  // namespace weft::kernels::cuda
