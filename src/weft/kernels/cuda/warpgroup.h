// SPDX-License-Identifier: Apache-2.0
// wgmma, the products of Hopper's tensor cores (sm_90a): four warps multiply 64 rows with a slice that lies in shared
// memory, while they go on. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/device.h"

namespace weft::kernels::cuda {

/// Where the 128-byte swizzle of wgmma begins anew: slices lie at multiples of it.
inline constexpr int kSwizzleBytes = 1024;

/// A slice at `address` of shared memory, as wgmma finds it. Its 128-byte swizzle turns the sixteen bytes c of a row r
/// to c ^ r % 8, by the bits of the address: that is chunk_place() of a slice, which so is a matrix whose eight rows of
/// 128 bytes are followed by the next eight 1,024 bytes behind. Both ways to read it have the same descriptor: rows as
/// they are (Q, K), and transposed (V); 64 numbers of 16 bits are one row, so that the other distance is not looked at.
constexpr std::uint64_t slice_descriptor(std::uint32_t address) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t kEightRows = std::uint64_t{kSwizzleBytes / 16} << 32;
  constexpr std::uint64_t kNotRead = std::uint64_t{1} << 16;
  return kSwizzle128 | kEightRows | kNotRead | (address & 0x3FFFFU) >> 4;
}
/// What is added to it for the next 16 columns, and for the next 16 rows: in units of sixteen bytes.
inline constexpr std::uint64_t kNextColumns = 2;
inline constexpr std::uint64_t kNextRows = 2 * kSwizzleBytes / 16;

/// A thread's share of 16 rows of 64 weights, rounded in pairs: at[step] has those of rows 16 step to 16 step + 15 of a
/// slice, as mma.sync has its left factor.
struct PackedWeights {
  std::uint32_t at[4][4];
};

#if defined(__CUDACC__)

/// sum (+)= own other^T over 16 columns of two slices; `adds`: not zero where the sum has something already.
template <bool kIsBFloat16>
WEFT_DEVICE void wgmma_slices(float (&sum)[8][4], std::uint64_t own, std::uint64_t other, int adds) {
  if constexpr (kIsBFloat16) {
    asm volatile(
        "{.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, adds, 1, 1, 0, 0;\n}\n"
        : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]), "+f"(sum[1][1]),
          "+f"(sum[1][2]), "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]), "+f"(sum[2][2]), "+f"(sum[2][3]),
          "+f"(sum[3][0]), "+f"(sum[3][1]), "+f"(sum[3][2]), "+f"(sum[3][3]), "+f"(sum[4][0]), "+f"(sum[4][1]),
          "+f"(sum[4][2]), "+f"(sum[4][3]), "+f"(sum[5][0]), "+f"(sum[5][1]), "+f"(sum[5][2]), "+f"(sum[5][3]),
          "+f"(sum[6][0]), "+f"(sum[6][1]), "+f"(sum[6][2]), "+f"(sum[6][3]), "+f"(sum[7][0]), "+f"(sum[7][1]),
          "+f"(sum[7][2]), "+f"(sum[7][3])
        : "l"(own), "l"(other), "r"(adds));
  } else {
    asm volatile(
        "{.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, adds, 1, 1, 0, 0;\n}\n"
        : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]), "+f"(sum[1][1]),
          "+f"(sum[1][2]), "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]), "+f"(sum[2][2]), "+f"(sum[2][3]),
          "+f"(sum[3][0]), "+f"(sum[3][1]), "+f"(sum[3][2]), "+f"(sum[3][3]), "+f"(sum[4][0]), "+f"(sum[4][1]),
          "+f"(sum[4][2]), "+f"(sum[4][3]), "+f"(sum[5][0]), "+f"(sum[5][1]), "+f"(sum[5][2]), "+f"(sum[5][3]),
          "+f"(sum[6][0]), "+f"(sum[6][1]), "+f"(sum[6][2]), "+f"(sum[6][3]), "+f"(sum[7][0]), "+f"(sum[7][1]),
          "+f"(sum[7][2]), "+f"(sum[7][3])
        : "l"(own), "l"(other), "r"(adds));
  }
}

/// sum += weights slice, over 16 rows of the slice.
template <bool kIsBFloat16>
WEFT_DEVICE void wgmma_weights(float (&sum)[8][4], const std::uint32_t (&weights)[4], std::uint64_t slice) {
  if constexpr (kIsBFloat16) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
        : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]), "+f"(sum[1][1]),
          "+f"(sum[1][2]), "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]), "+f"(sum[2][2]), "+f"(sum[2][3]),
          "+f"(sum[3][0]), "+f"(sum[3][1]), "+f"(sum[3][2]), "+f"(sum[3][3]), "+f"(sum[4][0]), "+f"(sum[4][1]),
          "+f"(sum[4][2]), "+f"(sum[4][3]), "+f"(sum[5][0]), "+f"(sum[5][1]), "+f"(sum[5][2]), "+f"(sum[5][3]),
          "+f"(sum[6][0]), "+f"(sum[6][1]), "+f"(sum[6][2]), "+f"(sum[6][3]), "+f"(sum[7][0]), "+f"(sum[7][1]),
          "+f"(sum[7][2]), "+f"(sum[7][3])
        : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "l"(slice));
  } else {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
        : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]), "+f"(sum[1][1]),
          "+f"(sum[1][2]), "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]), "+f"(sum[2][2]), "+f"(sum[2][3]),
          "+f"(sum[3][0]), "+f"(sum[3][1]), "+f"(sum[3][2]), "+f"(sum[3][3]), "+f"(sum[4][0]), "+f"(sum[4][1]),
          "+f"(sum[4][2]), "+f"(sum[4][3]), "+f"(sum[5][0]), "+f"(sum[5][1]), "+f"(sum[5][2]), "+f"(sum[5][3]),
          "+f"(sum[6][0]), "+f"(sum[6][1]), "+f"(sum[6][2]), "+f"(sum[6][3]), "+f"(sum[7][0]), "+f"(sum[7][1]),
          "+f"(sum[7][2]), "+f"(sum[7][3])
        : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "l"(slice));
  }
}

/// What a thread computed before comes before what it computes afterwards: the compiler moves nothing over it.
template <int kTiles>
WEFT_DEVICE void pin(float (&sum)[kTiles][4]) {
  unroll<kTiles>([&](auto tile) {
    asm volatile("" : "+f"(sum[tile][0]), "+f"(sum[tile][1]), "+f"(sum[tile][2]), "+f"(sum[tile][3])::"memory");
  });
}
WEFT_DEVICE void pin(std::uint32_t (&weights)[4][4]) {
  unroll<4>([&](auto step) {
    asm volatile(""
                 : "+r"(weights[step][0]), "+r"(weights[step][1]), "+r"(weights[step][2]),
                   "+r"(weights[step][3])::"memory");
  });
}

#endif

}  // namespace weft::kernels::cuda
