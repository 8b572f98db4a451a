// SPDX-License-Identifier: Apache-2.0
// What the passes on Hopper spare a thread that has few instructions to spare: the blocks of an item are read
// once into shared memory, what dropout keeps becomes bits, and numbers are stored in pairs.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "weft/kernels/cuda/edges.h"
#include "weft/kernels/cuda/own_rows.h"

namespace weft::kernels::cuda {

/// A block that is met.
struct alignas(16) MetBlock {
  std::int32_t block = 0;   ///< of keys, where queries are owned; else of queries
  std::int32_t kind = 0;    ///< as the layout has it
  std::uint64_t there = 0;  ///< a bit a row of it that exists and is not padded
};

/// The bits of a block of a layout without weights, a word for each row that is owned; null: a full block.
WEFT_DEVICE const std::uint64_t* bits_of(const DeviceCall& call, const MetBlock& met, bool owns_queries) {
  return pattern::is_full(met.kind)
             ? nullptr
             : (owns_queries ? call.bits.rows : call.bits.columns) + std::int64_t{met.kind} * kSliceRows;
}

/// The blocks that an item meets, as many as fit: each is read by one thread, so that nobody waits for a chain of
/// reads at every block.
template <typename Lanes>
class MetList {
  static constexpr int kRead = 32;

 public:
  static constexpr int kBytes = 2 * kRead * static_cast<int>(sizeof(MetBlock));

  /// `place`: kBytes of shared memory, a multiple of 16.
  WEFT_DEVICE MetList(Lanes& lanes, const DeviceCall& call, const Place& at, int place)
      : lanes_(lanes), call_(call), at_(at), place_(place) {}

  /// The first block of an item, for its copies, which need no list and not its kind.
  template <bool kOwnsQueries>
  WEFT_DEVICE MetBlock first(const WorkItem& item) const {
    if constexpr (kOwnsQueries) {
      return {item.met[0], 0, keys_there(call_, at_.batch, item.met[0])};
    } else {
      return {item.met[0], 0, queries_there(call_, item.met[0])};
    }
  }
  /// Block `number` of an item comes next, from 0 on: a barrier at some of them.
  template <bool kOwnsQueries>
  WEFT_DEVICE void read(const WorkItem& item, std::int32_t number) {
    if (number % kRead == 0) {
      lanes_.run([&](int thread) {
        const std::int32_t index = item.begin + number + thread;
        if (thread < kRead && index < item.end) {
          lanes_.store_shared(thread, place_of(number + thread), met_block<kOwnsQueries>(index));
        }
      });
      lanes_.barrier();
    }
  }
  /// One that was read, which is the last one or at most kRead before it.
  WEFT_DEVICE MetBlock at(std::int32_t number) { return lanes_.template load_shared<MetBlock>(0, place_of(number)); }

 private:
  WEFT_DEVICE int place_of(std::int32_t number) const { return place_ + 16 * (number % (2 * kRead)); }

  template <bool kOwnsQueries>
  WEFT_DEVICE MetBlock met_block(std::int32_t index) const {
    const pattern::LayoutView& layout = call_.attention.layout;
    if constexpr (kOwnsQueries) {
      const std::int32_t block = layout.key_block[index];
      return {block, layout.kind[index], keys_there(call_, at_.batch, block)};
    } else {
      const std::int32_t block = call_.gradients.transpose.query_block[index];
      return {block, layout.kind[call_.gradients.transpose.block[index]], queries_there(call_, block)};
    }
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  const Place& at_;
  int place_;
};

/// Which entries of a block dropout keeps: bit 4 tile + at of a thread's scores.
template <typename Lanes, bool kOwnsQueries>
class KeptEntries {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE KeptEntries(Lanes& lanes, const DeviceCall& call, const Place& at)
      : lanes_(lanes), call_(call), at_(at) {}

  /// `own` and `met` are the first rows of the block's two sides.
  WEFT_DEVICE void draw(std::int64_t own, std::int64_t met) {
    if constexpr (kOwnsQueries) {
      draw_rows(own, met);
    } else {
      draw_columns(own, met);
    }
  }
  /// What an entry is multiplied with.
  WEFT_DEVICE float scale(int thread, int tile, int at) const {
    return ((bits_[thread] >> (4 * tile + at)) & 1) != 0 ? call_.draws.kept_scale : 0.0F;
  }
  WEFT_DEVICE void scale_all(Each<Scores>& weights) {
    lanes_.run([&](int thread) {
      unroll<32>([&](auto at) { weights[thread].at[at / 4][at % 4] *= scale(thread, at / 4, at % 4); });
    });
  }

 private:
  WEFT_DEVICE std::uint32_t is_kept(std::uint32_t word, int half) const {
    return half_of(word, half) >= call_.draws.threshold ? 1U : 0U;
  }

  /// A draw has the numbers of a row and of four tiles.
  WEFT_DEVICE void draw_rows(std::int64_t own, std::int64_t met) {
    lanes_.run([&](int thread) {
      std::uint32_t kept = 0;
      unroll<4>([&](auto number) {
        const int row = number % 2;
        const int group = number / 2;
        const Philox4 draw = draw_of(call_, at_, own + own_row(thread) + 8 * row,
                                     met + group * static_cast<int>(KeyDraws::kKeys) + own_column(thread));
        unroll<4>([&](auto word) {
          const int bit = 4 * (4 * group + word) + 2 * row;
          kept |= is_kept(draw.value[word], 0) << bit | is_kept(draw.value[word], 1) << (bit + 1);
        });
      });
      bits_[thread] = kept;
    });
  }

  /// A draw has the numbers of a column and of both rows, for a thread and the one whose rows are the next, or those
  /// before: each draws for one of the two columns of a tile, and gives the other what it found.
  WEFT_DEVICE void draw_columns(std::int64_t own, std::int64_t met) {
    lanes_.run([&](int thread) {
      const std::int64_t key = own + own_row(thread);
      const int half = KeyDraws::half_of(key);  // and the column of which the draws are
      std::uint32_t mine = 0;
      std::uint32_t others = 0;
      WEFT_DEVICE_LOOP
      for (int tile = 0; tile < 8; ++tile) {
        const Philox4 draw = draw_of(call_, at_, met + 8 * tile + own_column(thread) + half, key);
        const bool is_late = KeyDraws::word_of(key) != 0;  // words 2 and 3, else 0 and 1
        const std::uint32_t words[2] = {is_late ? draw.value[2] : draw.value[0],
                                        is_late ? draw.value[3] : draw.value[1]};
        unroll<2>([&](auto row) {
          const int bit = 4 * tile + 2 * row + half;
          mine |= is_kept(words[row], half) << bit;
          others |= is_kept(words[row], 1 - half) << bit;
        });
      }
      bits_[thread] = mine;
      given_[thread] = std::bit_cast<float>(others);
    });
    lanes_.shuffle(taken_, given_, [&](int thread) { return thread % kWarp ^ 4; });
    lanes_.run([&](int thread) { bits_[thread] |= std::bit_cast<std::uint32_t>(taken_[thread]); });
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  const Place& at_;
  Each<std::uint32_t> bits_;
  Each<float> given_;
  Each<float> taken_;
};

/// A number of an array of results, or of partial sums.
template <typename Format>
using Stored = std::conditional_t<kIsHalf<Format>, std::uint16_t, float>;

/// Stores at `to` scale times what a thread has of its row 0 or 1, of a slice of which `left` columns are there: two
/// numbers at once where the row has all columns and begins at a multiple of both.
template <typename Format, typename Lanes, typename Sums, typename Row>
WEFT_DEVICE void store_row(Stored<Format>* to, const Sums& sums, int thread, Row row, std::int64_t left, float scale) {
  constexpr int kTiles = static_cast<int>(sizeof(sums.at) / sizeof(sums.at[0]));
  struct alignas(2 * sizeof(Stored<Format>)) Pair {
    Stored<Format> at[2];
  };
  if (left < 8 * kTiles || reinterpret_cast<std::uintptr_t>(to) % sizeof(Pair) != 0) {
    each_of_row(sums, thread, row, left,
                [&](int column, float sum) { store_number<Format, Lanes>(to, column, scale * sum); });
    return;
  }
  unroll<kTiles>([&](auto tile) {
    const float* const sum = &sums.at[tile][2 * row];
    Pair pair;
    if constexpr (kIsHalf<Format>) {
      pair = std::bit_cast<Pair>(Lanes::template pack<Format>(scale * sum[0], scale * sum[1]));
    } else {
      pair = {{scale * sum[0], scale * sum[1]}};
    }
    *reinterpret_cast<Pair*>(to + 8 * tile + own_column(thread)) = pair;
  });
}

}  // namespace weft::kernels::cuda
