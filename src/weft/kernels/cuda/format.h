// SPDX-License-Identifier: Apache-2.0
// How numbers of each dtype lie in shared memory and what multiplies them: tensor cores for 16 bits, plain sums for
// float32, which is exact, or tensor cores by request. A slice is 64 rows of 128 bytes, whatever the dtype, and all
// copies are of slices.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/device.h"
#include "weft/kernels/cuda/device_call.h"

namespace weft::kernels::cuda {

/// Rows of a slice: those of a block of the layout.
inline constexpr int kSliceRows = 64;
inline constexpr int kSliceRowBytes = 128;
inline constexpr int kSliceBytes = kSliceRows * kSliceRowBytes;
inline constexpr int kWarp = 32;
/// Rows that a warp owns.
inline constexpr int kWarpRows = 16;

/// Tensor cores: 64 columns a slice, 64 rows a block of four warps.
template <bool kBFloat>
struct HalfFormat {
  using Element = std::uint16_t;
  static constexpr bool kIsBFloat16 = kBFloat;
  static constexpr bool kHasTensorCores = true;
  static constexpr DType kType = kBFloat ? DType::kBFloat16 : DType::kFloat16;
  static constexpr int kColumns = 64;
  static constexpr int kOwnRows = 64;
  static constexpr std::uint32_t kExponent = kBFloat ? 0x7F80 : 0x7C00;
};
using BFloat16Format = HalfFormat<true>;
using Float16Format = HalfFormat<false>;

/// Sums of float32 products: 32 columns a slice, 32 rows a block of two warps, so that 256 columns fit.
struct Float32Format {
  using Element = std::uint32_t;
  static constexpr bool kIsBFloat16 = false;
  static constexpr bool kHasTensorCores = false;
  static constexpr DType kType = DType::kFloat32;
  static constexpr int kColumns = 32;
  static constexpr int kOwnRows = 32;
  static constexpr std::uint32_t kExponent = 0x7F800000;
};

/// Tensor cores for float32, whose factors are rounded to 11 bits. What is careful stays exact.
struct Tf32Format : Float32Format {
  static constexpr bool kHasTensorCores = true;
};

/// What the careful walk of a format, and all passes without products, compute in.
template <typename Format>
struct ExactFormatOf {
  using Type = Format;
};
template <>
struct ExactFormatOf<Tf32Format> {
  using Type = Float32Format;
};
template <typename Format>
using ExactFormat = typename ExactFormatOf<Format>::Type;

template <typename Format>
inline constexpr bool kIsHalf = sizeof(typename Format::Element) == 2;

template <typename Format>
inline constexpr int kThreads = Format::kOwnRows / kWarpRows * kWarp;

/// Numbers of sixteen bytes.
template <typename Format>
inline constexpr int kChunk = 16 / static_cast<int>(sizeof(typename Format::Element));

/// Slices of values that a block of the forward pass sums: 64 columns.
template <typename Format>
inline constexpr int kForwardSlices = 64 / Format::kColumns;

/// Slices that a row of `columns` numbers has.
template <typename Format>
constexpr int slices_of(std::int64_t columns) {
  return static_cast<int>((columns + Format::kColumns - 1) / Format::kColumns);
}

/// NaN or infinity, by its bits.
template <typename Format>
WEFT_DEVICE bool is_lost(typename Format::Element bits) {
  return (bits & Format::kExponent) == Format::kExponent;
}
WEFT_DEVICE bool is_lost_sum(float sum) { return !(sum - sum == 0.0F); }

/// work(Format) for a dtype: one of the three that are there.
template <typename Work>
auto with_format(DType dtype, const Work& work) {
  if (dtype == DType::kFloat32) {
    return work(Float32Format{});
  }
  return dtype == DType::kBFloat16 ? work(BFloat16Format{}) : work(Float16Format{});
}

/// The same for a call, which may ask for float32 on tensor cores.
template <typename Work>
auto with_call_format(const DeviceCall& call, const Work& work) {
  const bool is_tf32 = call.attention.dtype == DType::kFloat32 && call.is_tf32;
  return is_tf32 ? work(Tf32Format{}) : with_format(call.attention.dtype, work);
}

/// Where the sixteen bytes `chunk` of a row of a slice lie: turned by the row, so that eight rows of one chunk lie in
/// all banks.
WEFT_DEVICE int chunk_place(int row, int chunk) { return row * kSliceRowBytes + ((chunk ^ (row & 7)) << 4); }

/// The same `pairs` pairs of chunks further, from chunk 0 or 1 on: one number a thread serves for all of them.
WEFT_DEVICE int pairs_further(int place, int pairs) { return place ^ (pairs << 5); }

/// Where a number of a slice lies.
template <typename Format>
WEFT_DEVICE int element_place(int row, int column) {
  constexpr int kSize = static_cast<int>(sizeof(typename Format::Element));
  return chunk_place(row, column / kChunk<Format>) + column % kChunk<Format> * kSize;
}

}  // namespace weft::kernels::cuda
