// SPDX-License-Identifier: Apache-2.0
// The edges of the rows that threads have sums of: what a block stores, and where rows have positions, what queries see
// by these. A position is read once a thread and block, all of them under way together: a loop over the 64 keys of each
// row had some 100 instructions a key, with two divisions and three reads that waited for each other.
#pragma once

#include <cstdint>
#include <type_traits>

#include "weft/kernels/cuda/edges.h"
#include "weft/kernels/cuda/products.h"
#include "weft/kernels/row_positions.h"

namespace weft::kernels::cuda {

/// The edges of two rows that a thread has sums of.
struct alignas(16) RowWords {
  std::uint64_t at[2];
};

template <typename Lanes>
struct RowEdges {
  typename Lanes::template Each<RowWords> words;
  /// Bit 4 tile + at of a thread's sums: Entry::is_self. Only of calls with terms.
  typename Lanes::template Each<std::uint32_t> selves;
};

/// Positions of the rows of a head, in a call that has them. Whose keys these are is found once, by a division.
class HeadPositions {
 public:
  WEFT_DEVICE HeadPositions(const DeviceCall& call, const Place& at)
      : arguments_(call.attention),
        at_(at),
        keys_(arguments_.positions.keys +
              (at.batch * arguments_.key_heads + key_head_of(arguments_, at.head)) * arguments_.key_length) {}

  /// What a query sees, and where a key lies. Rows behind the last one have what the last one has: a read that is in no
  /// branch does not wait for those before it.
  WEFT_DEVICE SeenPositions query(std::int32_t row) const {
    return seen_positions(arguments_, {at_.batch, at_.head, row_there(row, arguments_.query_length)});
  }
  WEFT_DEVICE std::int32_t key(std::int32_t row) const { return keys_[row_there(row, arguments_.key_length)]; }

 private:
  static WEFT_DEVICE std::int32_t row_there(std::int32_t row, std::int64_t length) {
    const std::int32_t last = static_cast<std::int32_t>(length) - 1;
    return row < last ? row : last;
  }

  const AttentionArguments& arguments_;
  const Place& at_;
  const std::int32_t* keys_;
};

/// The bits of the four lanes that share a row, in all four.
template <typename Lanes>
WEFT_DEVICE void join_bits(Lanes& lanes, typename Lanes::template Each<std::uint64_t>& words) {
  typename Lanes::template Each<std::uint64_t> other;
  unroll<2>([&](auto bit) {
    lanes.shuffle(other, words, [&](int thread) { return thread % kWarp ^ (1 << bit); });
    lanes.run([&](int thread) { words[thread] |= other[thread]; });
  });
}

/// Takes away the edges that positions hide. Each of the four lanes of a row looks at the columns of its own sums.
template <bool kOwnsQueries, typename Lanes>
WEFT_DEVICE void keep_seen_edges(Lanes& lanes, const HeadPositions& positions, const Met& met, int first_row,
                                 RowEdges<Lanes>& edges) {
  typename Lanes::template Each<std::uint64_t> seen[2];
  const auto read = [&](auto is_query, int row) {
    if constexpr (decltype(is_query)::value) {
      return positions.query(met.first_query + row);
    } else {
      return positions.key(met.first_key + row);
    }
  };
  lanes.run([&](int thread) {
    unroll<2>([&](auto row) { seen[row][thread] = 0; });
    const auto note = [&](const SeenPositions& query, std::int32_t key, auto row, auto number) {
      const bool is_seen = query.sees(key);
      const bool is_self = is_seen && query.own == key;
      seen[row][thread] |= is_seen ? std::uint64_t{1} << (number / 2 * 8 + number % 2) : 0;
      edges.selves[thread] |= is_self ? 1U << (number / 2 * 4 + row * 2 + number % 2) : 0;
    };
    using Own = std::bool_constant<kOwnsQueries>;
    using Other = std::bool_constant<!kOwnsQueries>;
    const int own = first_row + own_row(thread);
    const auto first = read(Own{}, own);
    const auto second = read(Own{}, own + 8);
    unroll<16>([&](auto number) {
      const auto other = read(Other{}, number / 2 * 8 + own_column(thread) + number % 2);
      unroll<2>([&](auto row) {
        const auto& of_row = row == 0 ? first : second;
        if constexpr (kOwnsQueries) {
          note(of_row, other, row, number);
        } else {
          note(other, of_row, row, number);
        }
      });
    });
    unroll<2>([&](auto row) { seen[row][thread] <<= own_column(thread); });
  });
  unroll<2>([&](auto row) {
    join_bits(lanes, seen[row]);
    lanes.run([&](int thread) { edges.words[thread].at[row] &= seen[row][thread]; });
  });
}

/// The edges of each thread's rows in a block that is met; `first_row` is the first of the rows of the thread block.
/// kHasPositions: the call may have positions of rows.
template <bool kOwnsQueries, bool kHasPositions, typename Lanes>
WEFT_DEVICE void find_edges(Lanes& lanes, const DeviceCall& call, const Place& at, const Met& met, int first_row,
                            RowEdges<Lanes>& edges) {
  lanes.run([&](int thread) {
    unroll<2>(
        [&](auto row) { edges.words[thread].at[row] = stored_edges(met, first_row + own_row(thread) + 8 * row); });
    edges.selves[thread] = 0;
  });
  if constexpr (kHasPositions) {
    if (has_positions(call.attention)) {
      keep_seen_edges<kOwnsQueries>(lanes, HeadPositions(call, at), met, first_row, edges);
    }
  }
}

}  // namespace weft::kernels::cuda
