// SPDX-License-Identifier: Apache-2.0
// Slices on their way into shared memory: the tiles that a block owns, and a ring of those that it meets, which are
// copied a few steps ahead. Where numbers are not finite the block runs once more, carefully: each slice is screened,
// NaN and infinity become zero, and their places become bits.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/device_call.h"
#include "weft/kernels/cuda/format.h"
#include "weft/kernels/cuda/primitives.h"

namespace weft::kernels::cuda {

inline constexpr int kRingSlots = 4;
inline constexpr std::uint64_t kAllRows = ~std::uint64_t{0};

/// The lowest `count` bits.
WEFT_DEVICE std::uint64_t first_bits(std::int64_t count) {
  return count >= 64 ? kAllRows : (count <= 0 ? 0 : (std::uint64_t{1} << count) - 1);
}
WEFT_DEVICE bool has_bit(std::uint64_t word, int at) { return ((word >> at) & 1) != 0; }

/// Rows of an array of which slices are copied; those that are not there become zeros.
struct SliceRows {
  const unsigned char* data = nullptr;  ///< the first row
  std::int64_t stride = 0;              ///< in bytes
  std::int64_t columns = 0;
  std::uint64_t there = 0;  ///< a bit a row
};

template <typename Format>
WEFT_DEVICE SliceRows slice_rows(const Input& array, const Place& at, std::int64_t head, std::int64_t first_row) {
  const std::int64_t size = sizeof(typename Format::Element);
  const std::int64_t offset = at.batch * array.batch_stride + head * array.head_stride + first_row * array.row_stride;
  return {static_cast<const unsigned char*>(array.data) + offset * size, array.row_stride * size, 0, 0};
}

/// Sixteen bytes of a row that may begin anywhere.
template <typename Format>
WEFT_DEVICE Sixteen gather(const unsigned char* from, int bytes) {
  using Element = typename Format::Element;
  constexpr int kSize = static_cast<int>(sizeof(Element));
  Sixteen result{};
  unroll<kChunk<Format>>([&](auto at) {
    if (at * kSize < bytes) {
      const std::uint32_t element = reinterpret_cast<const Element*>(from)[at];
      result.word[at * kSize / 4] |= element << (at * kSize % 4 * 8);
    }
  });
  return result;
}

/// Copies columns [slice * kColumns, ...) of `kRows` rows. Where rows are not aligned, without cp.async.
template <typename Format, int kRows, typename Lanes>
WEFT_DEVICE void copy_slice(Lanes& lanes, int to, const SliceRows& from, int slice, bool is_aligned) {
  constexpr int kSize = static_cast<int>(sizeof(typename Format::Element));
  lanes.run([&](int thread) {
    unroll<kRows * 8 / kThreads<Format>>([&](auto round) {
      const int at = thread + round * kThreads<Format>;
      const int row = at / 8;
      const int chunk = at % 8;
      const std::int64_t column = std::int64_t{slice} * Format::kColumns + chunk * kChunk<Format>;
      const std::int64_t left = has_bit(from.there, row) ? (from.columns - column) * kSize : 0;
      const int bytes = left <= 0 ? 0 : (left < 16 ? static_cast<int>(left) : 16);
      const unsigned char* address = bytes == 0 ? from.data : from.data + row * from.stride + column * kSize;
      if (is_aligned) {
        lanes.copy_async(thread, to + chunk_place(row, chunk), address, bytes);
      } else {
        lanes.store_shared(thread, to + chunk_place(row, chunk), gather<Format>(address, bytes));
      }
    });
  });
}

/// A ring of slices that copy(to) fills one after the other, kAhead steps before they are used. next() gives the place
/// of the next one; those of the kRingSlots - kAhead last ones stay as they are.
template <typename Lanes, int kAhead, typename Copy>
class Ring {
 public:
  WEFT_DEVICE Ring(Lanes& lanes, int place, std::int64_t steps, const Copy& copy)
      : lanes_(lanes), copy_(copy), place_(place), left_(steps) {
    for (int slice = 0; slice < kAhead; ++slice) {
      fill();
    }
  }

  WEFT_DEVICE int next() {
    lanes_.template wait<kAhead - 1>();
    lanes_.barrier();
    fill();
    slot_ = used_ % kRingSlots;
    ++used_;
    return place_ + slot_ * kSliceBytes;
  }
  /// Of the slice that next() gave last.
  WEFT_DEVICE int slot() const { return slot_; }

 private:
  WEFT_DEVICE void fill() {
    if (left_ > 0) {
      copy_(place_ + filled_ % kRingSlots * kSliceBytes);
      --left_;
    }
    ++filled_;
    lanes_.commit();
  }

  Lanes& lanes_;
  Copy copy_;
  int place_;
  std::int64_t left_;
  int filled_ = 0;
  int used_ = 0;
  int slot_ = 0;
};

/// What careful runs know of slices: for each slot of the ring a word a column, whose bit r is set where row r had NaN
/// or infinity. [kRingSlots][64] words of shared memory.
template <typename Format, typename Lanes>
class Screen {
 public:
  static constexpr int kBytes = kRingSlots * 64 * 8;

  WEFT_DEVICE Screen(Lanes& lanes, int place) : lanes_(lanes), place_(place) {}

  /// Writes the words of a slice and puts zeros in place of what is lost.
  WEFT_DEVICE void clean(int slice, int slot) {
    lanes_.run([&](int thread) {
      if (thread < Format::kColumns) {
        std::uint64_t lost = 0;
        for (int row = 0; row < kSliceRows; ++row) {
          lost |= std::uint64_t{is_lost<Format>(load(thread, slice, row, thread)) ? 1U : 0U} << row;
        }
        lanes_.store_shared(thread, word_place(slot, thread), lost);
      }
    });
    lanes_.barrier();
    lanes_.run([&](int thread) {
      if (thread < kSliceRows) {
        clear_row(thread, slice, thread);
      }
    });
    lanes_.barrier();
  }

  WEFT_DEVICE std::uint64_t column(int thread, int slot, int column) const {
    return lanes_.template load_shared<std::uint64_t>(thread, word_place(slot, column));
  }
  /// Bit r: row r had something lost in any column.
  WEFT_DEVICE std::uint64_t rows(int thread, int slot) const {
    std::uint64_t lost = 0;
    for (int at = 0; at < Format::kColumns; ++at) {
      lost |= column(thread, slot, at);
    }
    return lost;
  }

  /// Whether a row of a slice has something lost; and zeros in its place.
  WEFT_DEVICE bool has_lost(int thread, int slice, int row) const {
    bool lost = false;
    for (int column = 0; column < Format::kColumns; ++column) {
      lost = lost || is_lost<Format>(load(thread, slice, row, column));
    }
    return lost;
  }
  WEFT_DEVICE void clear_row(int thread, int slice, int row) const {
    for (int column = 0; column < Format::kColumns; ++column) {
      if (is_lost<Format>(load(thread, slice, row, column))) {
        lanes_.store_shared(thread, slice + element_place<Format>(row, column), typename Format::Element{0});
      }
    }
  }

 private:
  WEFT_DEVICE int word_place(int slot, int column) const { return place_ + (slot * 64 + column) * 8; }
  WEFT_DEVICE typename Format::Element load(int thread, int slice, int row, int column) const {
    return lanes_.template load_shared<typename Format::Element>(thread, slice + element_place<Format>(row, column));
  }

  Lanes& lanes_;
  int place_;
};

}  // namespace weft::kernels::cuda
