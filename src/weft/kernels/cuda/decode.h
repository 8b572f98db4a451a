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
    for (std::int32_t index = item_.begin; index < item_.end; ++index) {
      add_scores_of_block(meet<true>(call_, at_, item_.block, index), (index - item_.begin) * kSliceRows);
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
  static WEFT_DEVICE float no_edge() { return -1; }  // in place of a weight

  WEFT_DEVICE std::int64_t query() const { return std::int64_t{item_.block} * call_.attention.layout.tile_query; }
  WEFT_DEVICE std::int64_t key_head() const { return at_.head / heads_of_key(call_.attention); }
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

  /// The numbers of a thread in a row of a slice; zeros beyond the last column.
  WEFT_DEVICE Numbers load(const SliceRows& rows, int slice, int row, int chunk) const {
    using Element = typename Format::Element;
    const RowChunk of = row_chunk<Format>(rows, slice, chunk);
    const unsigned char* const address = rows.data + row * rows.stride + of.offset;
    Numbers numbers;
    if (call_.is_aligned && of.bytes == 16) {
      const Sixteen bits = *reinterpret_cast<const Sixteen*>(address);
      unroll<kChunk<Format>>([&](auto at) { numbers.at[at] = number_of(bits, at); });
      return numbers;
    }
    constexpr int kSize = static_cast<int>(sizeof(Element));
    unroll<kChunk<Format>>(
        [&](auto at) { numbers.at[at] = at * kSize < of.bytes ? load_number<Format, Lanes>(address, at) : 0.0F; });
    return numbers;
  }
  template <typename Index>
  WEFT_DEVICE static float number_of(const Sixteen& bits, Index at) {
    if constexpr (kIsHalf<Format>) {
      return Lanes::template unpack<Format>(static_cast<std::uint16_t>(bits.word[at / 2] >> (at % 2 * 16)));
    } else {
      return std::bit_cast<float>(bits.word[at]);
    }
  }

  WEFT_DEVICE bool is_edge(const Met& met, int key) const {
    const std::uint64_t edges = (met.bits == nullptr ? kAllRows : met.bits[0]) & met.there;
    return has_bit(edges, key) &&
           (!has_positions(call_.attention) || is_in_sight(call_, at_, pair_of<true>(met, 0, key)));
  }

  /// Scores of a block's keys, sixteen at a time, eight threads a key. What is not finite, in the key or in the query,
  /// makes the score NaN.
  WEFT_DEVICE void add_scores_of_block(const Met& met, int first) {
    SliceRows rows = slice_rows<Format>(call_.attention.key, at_, key_head(), met.first_key);
    rows.columns = call_.attention.head_dim;
    for (int round = 0; round < kSliceRows / kGroups; ++round) {
      const auto key_of = [round](int thread) { return round * kGroups + thread / kRowThreads; };
      lanes_.run([&](int thread) {
        sum_[thread] = 0;
        if (is_edge(met, key_of(thread))) {
          for (int slice = 0; slice < slices_of<Format>(rows.columns); ++slice) {
            sum_[thread] += dot_of(thread, load(rows, slice, key_of(thread), thread % kRowThreads), slice);
          }
        }
      });
      unroll<3>([&](auto bit) {
        lanes_.shuffle(other_, sum_, [&](int thread) { return thread % kWarp ^ (1 << bit); });
        lanes_.run([&](int thread) { sum_[thread] += other_[thread]; });
      });
      lanes_.run([&](int thread) { store_score(thread, met, key_of(thread), first); });
    }
  }

  WEFT_DEVICE float dot_of(int thread, const Numbers& numbers, int slice) const {
    const int column = slice * Format::kColumns + thread % kRowThreads * kChunk<Format>;
    float sum = 0;
    float lost = 0;
    unroll<kChunk<Format>>([&](auto at) {
      const auto of_query = lanes_.template load_shared<float>(thread, 4 * (column + at));
      sum += numbers.at[at] * of_query;
      lost += numbers.at[at] * 0 + of_query * 0;
    });
    return sum + lost;
  }

  WEFT_DEVICE void store_score(int thread, const Met& met, int key, int first) {
    const bool has_edge = is_edge(met, key);
    has_edge_[thread] = has_edge_[thread] || has_edge;
    if (thread % kRowThreads == 0) {
      const float score = static_cast<float>(call_.attention.scale) * sum_[thread];
      lanes_.store_shared(
          thread, score_place(first + key),
          has_edge ? edge_score<true>(call_, at_, met, 0, key, score) : -std::numeric_limits<float>::infinity());
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
    const int first = (index - item_.begin) * kSliceRows;
    for (int key = thread / kRowThreads; key < kSliceRows; key += kGroups) {
      const auto weight = lanes_.template load_shared<float>(thread, score_place(first + key));
      if (weight != no_edge()) {
        const Numbers numbers = load(rows, slice, key, thread % kRowThreads);
        unroll<kChunk<Format>>([&](auto at) { sums.at[at] += weight * numbers.at[at]; });
      }
    }
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
    const std::int64_t row = (head * call_.rows.slots + item_.slot) * kSliceRows;
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
  Each<float> sum_;
  Each<float> other_;
  Each<float> maximum_;
};

}  // namespace weft::kernels::cuda
