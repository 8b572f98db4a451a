// SPDX-License-Identifier: Apache-2.0
// The two products that all of attention is made of, forwards and backwards: rows that a warp owns times the rows of a
// slice (scores), and weights in registers times a slice (values). On tensor cores, and in plain float32 sums.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/kernels/cuda/format.h"
#include "weft/kernels/cuda/primitives.h"

namespace weft::kernels::cuda {

/// 16 rows of a warp by the 64 rows of a slice.
using Scores = Sums<8>;
/// 16 rows of a warp by the columns of a slice.
template <typename Format>
using ValueSums = Sums<Format::kColumns / 8>;

/// The first of the two rows of a block that a thread has sums of; the second is 8 behind it.
WEFT_DEVICE int own_row(int thread) { return thread / kWarp * kWarpRows + thread % kWarp / 4; }
/// The first of the two columns of a tile of 8.
WEFT_DEVICE int own_column(int thread) { return thread % 4 * 2; }

/// A float32 number of shared memory.
struct Four {
  float at[4];
};
WEFT_DEVICE Four floats_of(const Sixteen& bits) {
  return {{std::bit_cast<float>(bits.word[0]), std::bit_cast<float>(bits.word[1]), std::bit_cast<float>(bits.word[2]),
           std::bit_cast<float>(bits.word[3])}};
}
WEFT_DEVICE float dot(const Four& a, const Four& b, float sum) {
  unroll<4>([&](auto at) { sum += a.at[at] * b.at[at]; });
  return sum;
}

/// sums += own other^T over the first `columns` columns of two slices; `own` is the slice of the block.
template <typename Format, typename Lanes>
WEFT_DEVICE void add_scores(Lanes& lanes, typename Lanes::template Each<Scores>& sums, int own, int other,
                            int columns) {
  if constexpr (Format::kHasTensorCores) {
    typename Lanes::template Each<Matrices> left;
    typename Lanes::template Each<Matrices> right;
    for (int step = 0; step * 2 * kChunk<Format> < columns; ++step) {
      lanes.load_matrices(left, [&](int thread) {
        const int lane = thread % kWarp;
        const int place = chunk_place(thread / kWarp * kWarpRows + lane / 8 % 2 * 8 + lane % 8, lane / 16);
        return own + pairs_further(place, step);
      });
      lanes.template round<Format>(left);
      unroll<4>([&](auto pair) {
        lanes.load_matrices(right, [&](int thread) {
          const int lane = thread % kWarp;
          const int place = chunk_place(lane / 16 * 8 + lane % 8, lane / 8 % 2);
          return other + 16 * pair * kSliceRowBytes + pairs_further(place, step);
        });
        lanes.template round<Format>(right);
        lanes.template multiply<Format>(sums, 2 * pair, left, right, 0);
        lanes.template multiply<Format>(sums, 2 * pair + 1, left, right, 2);
      });
    }
  } else {
    lanes.run([&](int thread) {
      const auto load = [&](int slice, int row, int chunk) {
        return floats_of(lanes.template load_shared<Sixteen>(thread, slice + chunk_place(row, chunk)));
      };
      for (int chunk = 0; chunk * 4 < columns; ++chunk) {
        const Four first = load(own, own_row(thread), chunk);
        const Four second = load(own, own_row(thread) + 8, chunk);
        unroll<16>([&](auto at) {
          const Four row = load(other, at / 2 * 8 + own_column(thread) + at % 2, chunk);
          float* const sum = sums[thread].at[at / 2];
          sum[at % 2] = dot(first, row, sum[at % 2]);
          sum[at % 2 + 2] = dot(second, row, sum[at % 2 + 2]);
        });
      }
    });
  }
}

/// sums += weights slice, on tensor cores: weights are rounded to the format, two to a number.
template <typename Format, typename Lanes>
WEFT_DEVICE void add_values_in_pairs(Lanes& lanes, typename Lanes::template Each<ValueSums<Format>>& sums,
                                     const typename Lanes::template Each<Scores>& weights, int slice) {
  typename Lanes::template Each<Matrices> left;
  typename Lanes::template Each<Matrices> right;
  unroll<4>([&](auto step) {
    lanes.run([&](int thread) {
      unroll<4>([&](auto at) {
        const float* const pair = &weights[thread].at[2 * step + at / 2][at % 2 * 2];
        left[thread].at[at] = Lanes::template pack<Format>(pair[0], pair[1]);
      });
    });
    unroll<Format::kColumns / 16>([&](auto pair) {
      lanes.load_matrices_transposed(right, [&](int thread) {
        const int lane = thread % kWarp;
        const int place = chunk_place(lane / 8 % 2 * 8 + lane % 8, lane / 16);
        return slice + 16 * step * kSliceRowBytes + pairs_further(place, pair);
      });
      lanes.template multiply<Format>(sums, 2 * pair, left, right, 0);
      lanes.template multiply<Format>(sums, 2 * pair + 1, left, right, 2);
    });
  });
}

/// The same with float32 on tensor cores, eight rows of the slice at a time. Rows are summed over, so that lane t may
/// give rows 2 t and 2 t + 1, whose weights it has, for t and t + 4.
template <typename Format, typename Lanes>
WEFT_DEVICE void add_values_in_tf32(Lanes& lanes, typename Lanes::template Each<ValueSums<Format>>& sums,
                                    const typename Lanes::template Each<Scores>& weights, int slice) {
  typename Lanes::template Each<Matrices> left;
  typename Lanes::template Each<Matrices> right;
  unroll<8>([&](auto step) {
    lanes.run([&](int thread) {
      unroll<4>([&](auto at) {
        left[thread].at[at] = std::bit_cast<std::uint32_t>(weights[thread].at[step][at % 2 * 2 + at / 2]);
      });
    });
    lanes.template round<Format>(left);
    unroll<Format::kColumns / 8>([&](auto tile) {
      lanes.run([&](int thread) {
        unroll<2>([&](auto at) {
          const int place = element_place<Format>(own_column(thread) + at, thread % kWarp / 4);
          const int from = slice + 8 * step * kSliceRowBytes + pairs_further(place, tile);
          right[thread].at[at] = lanes.template load_shared<std::uint32_t>(thread, from);
        });
      });
      lanes.template round<Format>(right);
      lanes.template multiply<Format>(sums, tile, left, right, 0);
    });
  });
}

/// The same in float32: the four lanes that share a row pass their weights round.
template <typename Format, typename Lanes>
WEFT_DEVICE void add_values_in_floats(Lanes& lanes, typename Lanes::template Each<ValueSums<Format>>& sums,
                                      const typename Lanes::template Each<Scores>& weights, int slice) {
  typename Lanes::template Each<float> given[4];
  typename Lanes::template Each<float> taken[4];
  unroll<32>([&](auto at) {
    const int tile = at / 4;
    const int source = at % 4;
    unroll<4>([&](auto entry) {
      lanes.run([&](int thread) { given[entry][thread] = weights[thread].at[tile][entry]; });
      lanes.shuffle(taken[entry], given[entry], [&](int thread) { return thread % kWarp / 4 * 4 + source; });
    });
    lanes.run([&](int thread) {
      unroll<2 * (Format::kColumns / 8)>([&](auto place) {
        const int column = place / 2;
        const int key = place % 2;
        const int from = element_place<Format>(8 * tile + 2 * source + key, 8 * column + own_column(thread));
        const auto bits = lanes.template load_shared<std::uint64_t>(thread, slice + from);
        const float low = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        const float high = std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32));
        float* const sum = sums[thread].at[column];
        sum[0] += taken[key][thread] * low;
        sum[1] += taken[key][thread] * high;
        sum[2] += taken[key + 2][thread] * low;
        sum[3] += taken[key + 2][thread] * high;
      });
    });
  });
}

/// sums += weights slice: 16 rows of 64 weights by the 64 rows of a slice.
template <typename Format, typename Lanes>
WEFT_DEVICE void add_values(Lanes& lanes, typename Lanes::template Each<ValueSums<Format>>& sums,
                            const typename Lanes::template Each<Scores>& weights, int slice) {
  if constexpr (kIsHalf<Format>) {
    add_values_in_pairs<Format>(lanes, sums, weights, slice);
  } else if constexpr (Format::kHasTensorCores) {
    add_values_in_tf32<Format>(lanes, sums, weights, slice);
  } else {
    add_values_in_floats<Format>(lanes, sums, weights, slice);
  }
}

/// Rounds weights in pairs, as products of slices take them.
template <typename Format, typename Lanes>
WEFT_DEVICE void pack_weights(Lanes& lanes, typename Lanes::template Each<PackedWeights>& to,
                              const typename Lanes::template Each<Scores>& weights) {
  lanes.run([&](int thread) {
    unroll<16>([&](auto at) {
      const float* const pair = &weights[thread].at[2 * (at / 4) + at % 4 / 2][at % 2 * 2];
      to[thread].at[at / 4][at % 4] = Lanes::template pack<Format>(pair[0], pair[1]);
    });
  });
}

/// The greatest (kIsSum: the sum) of the four lanes that share a row, in all four.
template <bool kIsSum, typename Lanes>
WEFT_DEVICE void join_row(Lanes& lanes, typename Lanes::template Each<float>& values) {
  typename Lanes::template Each<float> other;
  unroll<2>([&](auto bit) {
    lanes.shuffle(other, values, [&](int thread) { return thread % kWarp ^ (1 << bit); });
    lanes.run([&](int thread) {
      if constexpr (kIsSum) {
        values[thread] += other[thread];
      } else {
        values[thread] = Lanes::greater(other[thread], values[thread]);
      }
    });
  });
}

}  // namespace weft::kernels::cuda
