// SPDX-License-Identifier: Apache-2.0
// Slices on their way into shared memory: the tiles that a block owns, and a ring of those that it meets, which are
// copied a few steps ahead. Where numbers are not finite a second kernel runs the block again, carefully: each slice is
// screened, NaN and infinity become zero, and their places become bits.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/device_call.h"
#include "weft/kernels/cuda/format.h"
#include "weft/kernels/cuda/primitives.h"

namespace weft::kernels::cuda {

inline constexpr int kRingSlots = 4;  // a power of two
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

/// The bytes of a slice's row that a thread copies, the same sixteen of all its rows.
struct RowChunk {
  int place = 0;  ///< in a row of the slice, before it is turned
  int bytes = 0;  ///< 0 to 16; zeros follow
  std::int64_t offset = 0;
};
template <typename Format>
WEFT_DEVICE RowChunk row_chunk(const SliceRows& from, int slice, int chunk) {
  constexpr int kSize = static_cast<int>(sizeof(typename Format::Element));
  const int column = slice * Format::kColumns + chunk * kChunk<Format>;
  const int left = (static_cast<int>(from.columns) - column) * kSize;
  return {chunk, left <= 0 ? 0 : (left < 16 ? left : 16), std::int64_t{column} * kSize};
}

/// Copies columns [slice * kColumns, ...) of `kRows` rows that may begin anywhere, without cp.async.
template <typename Format, int kRows, typename Lanes>
WEFT_DEVICE void gather_slice(Lanes& lanes, int to, const SliceRows& from, int slice) {
  using Element = typename Format::Element;
  constexpr int kSize = static_cast<int>(sizeof(Element));
  lanes.run([&](int thread) {
    const RowChunk of = row_chunk<Format>(from, slice, thread % 8);
    WEFT_DEVICE_LOOP
    for (int row = thread / 8; row < kRows; row += kThreads<Format> / 8) {
      const int bytes = has_bit(from.there, row) ? of.bytes : 0;
      WEFT_DEVICE_LOOP
      for (int at = 0; at < kChunk<Format>; ++at) {
        const unsigned char* address = from.data + row * from.stride + of.offset + at * kSize;
        const Element element = at * kSize < bytes ? *reinterpret_cast<const Element*>(address) : Element{0};
        lanes.store_shared(thread, to + chunk_place(row, of.place) + at * kSize, element);
      }
    }
  });
}

/// The same of rows that are aligned: begins to copy them.
template <typename Format, int kRows, typename Lanes>
WEFT_DEVICE void copy_slice(Lanes& lanes, int to, const SliceRows& from, int slice, bool is_aligned) {
  if (!is_aligned) {
    gather_slice<Format, kRows>(lanes, to, from, slice);
    return;
  }
  constexpr int kBetween = kThreads<Format> / 8;  // rows from one copy of a thread to the next: a multiple of eight
  lanes.run([&](int thread) {
    const RowChunk of = row_chunk<Format>(from, slice, thread % 8);
    const int first = thread / 8;
    const unsigned char* address = from.data + first * from.stride + of.offset;
    const std::uint64_t there = from.there >> first;
    const int place = to + chunk_place(first, of.place);
    unroll<kRows / kBetween>([&](auto round) {
      const int row = round * kBetween;
      const int bytes = has_bit(there, row) ? of.bytes : 0;
      lanes.copy_async(thread, place + row * kSliceRowBytes, bytes == 0 ? from.data : address + row * from.stride,
                       bytes);
    });
  });
}

/// Copies slices of an array that have all of their rows and columns, and are aligned: what a thread needs each time is
/// made once.
template <typename Format, typename Lanes>
class PlainCopies {
 public:
  WEFT_DEVICE PlainCopies(Lanes& lanes, const Input& array, const Place& at, std::int64_t head) : lanes_(lanes) {
    const SliceRows rows = slice_rows<Format>(array, at, head, 0);
    stride_ = rows.stride;
    lanes_.run([&](int thread) { from_[thread] = rows.data + thread / 8 * rows.stride + thread % 8 * 16; });
  }

  /// Begins to copy a slice of the 64 rows of a block.
  WEFT_DEVICE void copy(std::int32_t block, int slice, int to) {
    constexpr int kBetween = kThreads<Format> / 8;  // rows from one copy of a thread to the next: a multiple of eight
    lanes_.run([&](int thread) {
      const int place = to + chunk_place(thread / 8, thread % 8);
      const unsigned char* const address = from_[thread] + block * (kSliceRows * stride_) + slice * kSliceRowBytes;
      unroll<kSliceRows / kBetween>([&](auto round) {
        constexpr int kWhole = 16;
        lanes_.copy_async(thread, place + round * kBetween * kSliceRowBytes, address + round * kBetween * stride_,
                          kWhole);
      });
    });
  }

 private:
  Lanes& lanes_;
  std::int64_t stride_;
  typename Lanes::template Each<const unsigned char*> from_;
};

/// A ring of slices that copy(to) fills one after the other, kAhead steps before they are used. next() gives the place
/// of the next one; those of the kRingSlots - kAhead last ones stay as they are. kIsPublished: for products of slices.
template <typename Lanes, int kAhead, typename Copy, bool kIsPublished = false>
class Ring {
 public:
  WEFT_DEVICE Ring(Lanes& lanes, int place, std::int32_t steps, const Copy& copy)
      : lanes_(lanes), copy_(copy), place_(place), steps_(steps) {
    WEFT_DEVICE_LOOP
    for (int step = 0; step < kAhead; ++step) {
      fill(step);
    }
  }

  WEFT_DEVICE int next() {
    lanes_.template wait<kAhead - 1>();
    if constexpr (kIsPublished) {
      lanes_.publish();
    }
    lanes_.barrier();
    fill(used_ + kAhead);
    ++used_;
    return place_ + slot() * kSliceBytes;
  }
  /// Of the slice that next() gave last.
  WEFT_DEVICE int slot() const { return (used_ - 1) & (kRingSlots - 1); }

 private:
  WEFT_DEVICE void fill(std::int32_t step) {
    if (step < steps_) {
      copy_(place_ + (step & (kRingSlots - 1)) * kSliceBytes);
    }
    lanes_.commit();
  }

  Lanes& lanes_;
  Copy copy_;
  int place_;
  std::int32_t steps_;
  std::int32_t used_ = 0;
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
        WEFT_DEVICE_LOOP
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
    WEFT_DEVICE_LOOP
    for (int at = 0; at < Format::kColumns; ++at) {
      lost |= column(thread, slot, at);
    }
    return lost;
  }

  /// Whether a row of a slice has something lost; and zeros in its place.
  WEFT_DEVICE bool has_lost(int thread, int slice, int row) const {
    bool lost = false;
    WEFT_DEVICE_LOOP
    for (int column = 0; column < Format::kColumns; ++column) {
      lost = lost || is_lost<Format>(load(thread, slice, row, column));
    }
    return lost;
  }
  WEFT_DEVICE void clear_row(int thread, int slice, int row) const {
    WEFT_DEVICE_LOOP
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
