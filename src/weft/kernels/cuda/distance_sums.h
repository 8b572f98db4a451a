// SPDX-License-Identifier: Apache-2.0
// The gradient of a distance table: gradients of scores summed along the diagonals of a block, eight rows at a time,
// into a table of the thread block; the tables of all blocks are summed afterwards. Every sum has its order.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/own_rows.h"

namespace weft::kernels::cuda {

/// The longest row of a table whose gradient is summed so: each item has a table.
inline constexpr std::int64_t kLongestSummedTable = 1024;

template <typename Lanes, typename Format>
class DistanceSums {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  /// `place`: 2 KB of shared memory, which must be free in add().
  WEFT_DEVICE DistanceSums(Lanes& lanes, const DeviceCall& call, const Place& at, int place)
      : lanes_(lanes), call_(call), place_(place), first_row_(at.part * Format::kOwnRows) {
    const std::int64_t head = at.batch * call.attention.heads + at.head;
    const std::int64_t item = head * call.rows.most_items + at.item;
    const std::int64_t place_of_item = (item * (kSliceRows / Format::kOwnRows) + at.part) * size();
    sums_ = call.partials.table == nullptr ? nullptr : call.partials.table + place_of_item;
  }

  WEFT_DEVICE void clear() {
    lanes_.run([&](int thread) {
      for (std::int64_t entry = thread; entry < size(); entry += kThreads<Format>) {
        sums_[entry] = 0;
      }
    });
    lanes_.barrier();
  }

  WEFT_DEVICE void add(const Met& met, const Each<Scores>& gradients) {
    for (int first = 0; first < Format::kOwnRows; first += kRows) {
      lanes_.barrier();
      lanes_.run([&](int thread) {
        unroll<32>([&](auto at) {
          const int row = own_row(thread) + at % 4 / 2 * 8 - first;
          if (row >= 0 && row < kRows) {
            const int column = at / 4 * 8 + own_column(thread) + at % 2;
            lanes_.store_shared(thread, place_of(row, column), gradients[thread].at[at / 4][at % 4]);
          }
        });
      });
      lanes_.barrier();
      lanes_.run([&](int thread) {
        for (int diagonal = thread; diagonal < kDiagonals; diagonal += kThreads<Format>) {
          add_entry(thread, met, first, diagonal);
        }
      });
    }
  }

 private:
  static constexpr int kRows = 8;
  static constexpr int kDiagonals = kRows + kSliceRows - 1;

  WEFT_DEVICE std::int64_t size() const { return call_.attention.distances.rows * call_.attention.distances.span; }
  WEFT_DEVICE int place_of(int row, int column) const { return place_ + (row * kSliceRows + column) * 4; }

  /// The entry of the pairs with row - column + 63 = diagonal; `first` is the first of the eight rows.
  WEFT_DEVICE std::int64_t entry_of(const Met& met, int first, int diagonal) const {
    const DistanceTable& table = call_.attention.distances;
    const std::int64_t query = met.first_query + first_row_ + first + table.query_offset;
    return distance_entry(table, query - met.first_key + diagonal - (kSliceRows - 1));
  }

  /// Several diagonals may have the entry at an end: the thread of the first one sums them all.
  WEFT_DEVICE void add_entry(int thread, const Met& met, int first, int diagonal) {
    const std::int64_t entry = entry_of(met, first, diagonal);
    if (diagonal > 0 && entry_of(met, first, diagonal - 1) == entry) {
      return;
    }
    const DistanceTable& table = call_.attention.distances;
    float sum = 0;
    float second = 0;  // of the pairs of which one position is 0; no array, which an index would put into memory
    for (int at = diagonal; at < kDiagonals && entry_of(met, first, at) == entry; ++at) {
      for (int row = 0; row < kRows; ++row) {
        const int column = row + kSliceRows - 1 - at;
        if (column >= 0 && column < kSliceRows) {
          const std::int64_t position = met.first_query + first_row_ + first + row + table.query_offset;
          const bool is_second = table.rows == 2 && (position == 0) != (met.first_key + column == 0);
          const auto gradient = lanes_.template load_shared<float>(thread, place_of(row, column));
          sum += is_second ? 0.0F : gradient;
          second += is_second ? gradient : 0.0F;
        }
      }
    }
    sums_[entry] += sum;
    if (table.rows == 2) {
      sums_[table.span + entry] += second;
    }
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  int place_;
  int first_row_;
  float* sums_;
};

/// Sums the tables of all items of a head, over the batch, a thread an entry: at.item is a range of entries.
template <typename Lanes, typename Format>
WEFT_DEVICE void join_tables(Lanes& lanes, const DeviceCall& call, const Place& at) {
  lanes.run([&](int thread) {
    const AttentionArguments& arguments = call.attention;
    const std::int64_t size = arguments.distances.rows * arguments.distances.span;
    const std::int64_t entry = at.item * kThreads<Format> + thread;
    if (entry >= size) {
      return;
    }
    constexpr std::int64_t kParts = kSliceRows / Format::kOwnRows;
    float sum = 0;
    for (std::int64_t batch = 0; batch < arguments.batch; ++batch) {
      const std::int64_t group = arguments.layout.group_of(batch, at.head);
      const std::int64_t items = call.rows.item_begin[group + 1] - call.rows.item_begin[group];
      const std::int64_t first = (batch * arguments.heads + at.head) * call.rows.most_items * kParts;
      for (std::int64_t item = 0; item < items * kParts; ++item) {
        sum += call.partials.table[(first + item) * size + entry];
      }
    }
    static_cast<float*>(call.gradients.distance_gradient)[at.head * size + entry] = sum;
  });
}

}  // namespace weft::kernels::cuda
