// SPDX-License-Identifier: Apache-2.0
// What the kernels of all passes share: the tile that a block owns, the place of everything in shared memory, and the
// scores of a slice with NaN along the edges of what a careful run found lost.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/cuda/edges.h"
#include "weft/kernels/cuda/products.h"
#include "weft/kernels/cuda/row_edges.h"
#include "weft/kernels/cuda/slices.h"

namespace weft::kernels::cuda {

/// Bytes of a slice of the rows that a block owns.
template <typename Format>
inline constexpr int kOwnSliceBytes = Format::kOwnRows * kSliceRowBytes;

/// Where things lie: the tiles that are owned, one after the other, the ring, the words of careful runs.
template <typename Format>
constexpr int ring_place(int own_slices) {
  return own_slices * kOwnSliceBytes<Format>;
}
template <typename Format>
constexpr int shared_bytes(int own_slices) {
  return ring_place<Format>(own_slices) + kRingSlots * kSliceBytes + kRingSlots * kSliceRows * 8;
}

/// A flag for each of the two rows of a thread.
struct RowFlags {
  bool at[2];
};

/// A tile of rows that a block owns, and of the array whose rows it meets: two operands of a product of scores.
template <typename Format, typename Lanes>
class OwnTile {
 public:
  WEFT_DEVICE OwnTile(Lanes& lanes, int place, const SliceRows& rows)
      : lanes_(lanes), rows_(rows), place_(place), slices_(slices_of<Format>(rows.columns)) {}

  WEFT_DEVICE int slices() const { return slices_; }
  WEFT_DEVICE int place(int slice) const { return place_ + slice * kOwnSliceBytes<Format>; }

  WEFT_DEVICE void copy(bool is_aligned) {
    WEFT_DEVICE_LOOP
    for (int slice = 0; slice < slices_; ++slice) {
      copy_slice<Format, Format::kOwnRows>(lanes_, place(slice), rows_, slice, is_aligned);
    }
  }

  /// sums += own other^T over the columns of a slice.
  WEFT_DEVICE void add_scores_of(typename Lanes::template Each<Scores>& sums, int slice, int other) {
    const std::int64_t left = rows_.columns - std::int64_t{slice} * Format::kColumns;
    add_scores<Format>(lanes_, sums, place(slice), other,
                       left < Format::kColumns ? static_cast<int>(left) : Format::kColumns);
  }

  /// Adds to `lost` which rows are, and clears them. For careful runs, when the copies have arrived.
  WEFT_DEVICE void screen(const Screen<Format, Lanes>& screen, typename Lanes::template Each<RowFlags>& lost) {
    lanes_.run([&](int thread) {
      WEFT_DEVICE_LOOP
      for (int slice = 0; slice < slices_; ++slice) {
        unroll<2>([&](auto row) {
          const bool is_lost = screen.has_lost(thread, place(slice), own_row(thread) + 8 * row);
          lost[thread].at[row] = lost[thread].at[row] || is_lost;
        });
      }
    });
    lanes_.barrier();
    lanes_.run([&](int thread) {
      WEFT_DEVICE_LOOP
      for (int slice = 0; slice < slices_ && thread < Format::kOwnRows; ++slice) {
        screen.clear_row(thread, place(slice), thread);
      }
    });
    lanes_.barrier();
  }

 private:
  Lanes& lanes_;
  SliceRows rows_;
  int place_;
  int slices_;
};

/// Gives every edge whose row or column is lost the score NaN. `others` is a bit a column.
template <typename Lanes>
WEFT_DEVICE void spoil(Lanes& lanes, typename Lanes::template Each<Scores>& scores,
                       const typename Lanes::template Each<RowFlags>& own,
                       const typename Lanes::template Each<std::uint64_t>& others) {
  lanes.run([&](int thread) {
    unroll<32>([&](auto at) {
      const int column = at / 4 * 8 + own_column(thread) + at % 2;
      if (own[thread].at[at % 4 / 2] || has_bit(others[thread], column)) {
        scores[thread].at[at / 4][at % 4] = std::numeric_limits<float>::quiet_NaN();
      }
    });
  });
}

/// Gives every sum NaN whose column is lost in a row along an edge.
template <typename Format, typename Lanes>
WEFT_DEVICE void spoil_values(Lanes& lanes, typename Lanes::template Each<ValueSums<Format>>& sums,
                              const Screen<Format, Lanes>& screen, int slot,
                              const typename Lanes::template Each<RowWords>& edges) {
  lanes.run([&](int thread) {
    unroll<Format::kColumns / 8 * 4>([&](auto at) {
      const std::uint64_t lost = screen.column(thread, slot, at / 4 * 8 + own_column(thread) + at % 2);
      if ((lost & edges[thread].at[at % 4 / 2]) != 0) {
        sums[thread].at[at / 4][at % 4] = std::numeric_limits<float>::quiet_NaN();
      }
    });
  });
}

template <typename Lanes>
WEFT_DEVICE void clear(Lanes& lanes, typename Lanes::template Each<Scores>& sums) {
  lanes.run([&](int thread) { sums[thread] = {}; });
}

/// Stores a number as the dtype has it.
template <typename Format, typename Lanes>
WEFT_DEVICE void store_number(void* array, std::int64_t at, float number) {
  if constexpr (kIsHalf<Format>) {
    static_cast<std::uint16_t*>(array)[at] = static_cast<std::uint16_t>(Lanes::template pack<Format>(number, 0.0F));
  } else {
    static_cast<float*>(array)[at] = number;
  }
}

/// Calls store(column, sum) for the sums that a thread has of its row 0 or 1, of a slice with `left` columns or more.
template <typename Sums, typename Row, typename Store>
WEFT_DEVICE void each_of_row(const Sums& sums, int thread, Row row, std::int64_t left, const Store& store) {
  constexpr int kTiles = static_cast<int>(sizeof(sums.at) / sizeof(sums.at[0]));
  const int columns = left < 8 * kTiles ? static_cast<int>(left) : 8 * kTiles;
  unroll<2 * kTiles>([&](auto at) {
    const int column = at / 2 * 8 + own_column(thread) + at % 2;
    if (column < columns) {
      store(column, sums.at[at / 2][2 * row + at % 2]);
    }
  });
}

/// A number of an array in the dtype.
template <typename Format, typename Lanes>
WEFT_DEVICE float load_number(const void* array, std::int64_t at) {
  if constexpr (kIsHalf<Format>) {
    return Lanes::template unpack<Format>(static_cast<const std::uint16_t*>(array)[at]);
  } else {
    return static_cast<const float*>(array)[at];
  }
}

/// Where the first entry of a row of an array lies.
template <typename Pointer>
WEFT_DEVICE std::int64_t row_place(const Array4<Pointer>& array, std::int64_t batch, std::int64_t head,
                                   std::int64_t row) {
  return batch * array.batch_stride + head * array.head_stride + row * array.row_stride;
}

}  // namespace weft::kernels::cuda
