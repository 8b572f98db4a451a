// SPDX-License-Identifier: Apache-2.0
// The primitives that kernels are written over, as PTX: a kernel is a sequence of run(), in which each thread of a
// block does plain things, and of collectives between them, which are named here. The same kernels run on a processor
// over tests/kernels/cuda/emulated_lanes.h, which has these functions made of loops.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/device.h"
#include "weft/kernels/cuda/warpgroup.h"

namespace weft::kernels::cuda {

/// What ldmatrix gives a thread: its share of four 8 x 8 matrices of 16-bit numbers.
struct Matrices {
  std::uint32_t at[4];
};

/// A thread's share of 16 rows of 8 * kTiles sums: at[tile][0, 1] are columns 8 tile + 2 (lane % 4) and the next of row
/// lane / 4, at[tile][2, 3] those of row lane / 4 + 8.
template <int kTiles>
struct Sums {
  float at[kTiles][4];
};

/// Sixteen bytes, as they are copied.
struct alignas(16) Sixteen {
  std::uint32_t word[4];
};

#if defined(__CUDACC__)

/// `kThreads` threads of a block of a GPU.
template <int kThreads>
struct DeviceLanes {
  /// Whether there are products of slices in shared memory. The one place where an architecture chooses: it is known
  /// when machine code is made for it.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static constexpr bool kHasSliceProducts = kThreads == 128;
#else
  static constexpr bool kHasSliceProducts = false;
#endif

  /// A T in each thread.
  template <typename T>
  struct Each {
    T value;
    WEFT_DEVICE T& operator[](int) { return value; }
    WEFT_DEVICE const T& operator[](int) const { return value; }
  };

  template <typename Work>
  WEFT_DEVICE void run(const Work& work) {
    work(static_cast<int>(threadIdx.x));
  }

  /// The same in warps of which any thread has it.
  template <typename Work>
  WEFT_DEVICE void run_where(const Each<bool>& is_so, const Work& work) {
    if (__any_sync(0xFFFFFFFFU, is_so.value)) {
      work(static_cast<int>(threadIdx.x));
    }
  }

  static WEFT_DEVICE std::uint32_t shared_address(int offset) {
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory)) + static_cast<std::uint32_t>(offset);
  }

  /// Begins to copy `bytes` (0 to 16) from an address that is a multiple of 16; the rest of the 16 become zeros.
  WEFT_DEVICE void copy_async(int, int to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
  }
  /// Ends a group of copies.
  WEFT_DEVICE void commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
  /// Waits until at most kPending groups of the thread are under way.
  template <int kPending>
  WEFT_DEVICE void wait() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
  }
  WEFT_DEVICE void barrier() { __syncthreads(); }

  template <typename T>
  WEFT_DEVICE T load_shared(int, int offset) {
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    return *reinterpret_cast<const T*>(shared_memory + offset);
  }
  template <typename T>
  WEFT_DEVICE void store_shared(int, int offset, const T& value) {
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    *reinterpret_cast<T*>(shared_memory + offset) = value;
  }

  /// Four 8 x 8 matrices: lane l gives the address of row l % 8 of matrix l / 8, and gets entries 2 (l % 4) and the
  /// next of row l / 4 of each; transposed, of column l / 4.
  template <typename Address>
  WEFT_DEVICE void load_matrices(Each<Matrices>& to, const Address& address) {
    std::uint32_t* const at = to.value.at;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3])
                 : "r"(shared_address(address(static_cast<int>(threadIdx.x))))
                 : "memory");
  }
  template <typename Address>
  WEFT_DEVICE void load_matrices_transposed(Each<Matrices>& to, const Address& address) {
    std::uint32_t* const at = to.value.at;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3])
                 : "r"(shared_address(address(static_cast<int>(threadIdx.x))))
                 : "memory");
  }

  /// Float32 factors are rounded to the 11 bits that tensor cores look at; others are as they should be.
  template <typename Format>
  WEFT_DEVICE void round(Each<Matrices>& factors) {
    if constexpr (sizeof(typename Format::Element) == 4) {
      unroll<4>([&](auto at) {
        asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(factors.value.at[at]) : "f"(__uint_as_float(factors.value.at[at])));
      });
    }
  }

  /// sums[tile] += left right: 16 x 16 by 16 x 8 (float32: 16 x 8 by 8 x 8), of which `right` has two matrices from
  /// `first` on.
  template <typename Format, int kTiles>
  WEFT_DEVICE void multiply(Each<Sums<kTiles>>& sums, int tile, const Each<Matrices>& left, const Each<Matrices>& right,
                            int first) {
    float* const sum = sums.value.at[tile];
    const std::uint32_t* const a = left.value.at;
    const std::uint32_t* const b = right.value.at + first;
    if constexpr (sizeof(typename Format::Element) == 4) {
      asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else if constexpr (Format::kIsBFloat16) {
      asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
      asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
  }

  /// What the threads stored and copied, once they waited for it, is for products of slices after the next barrier.
  WEFT_DEVICE void publish() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }
  /// Products of slices may begin: what they add to, and their weights, is as it should be.
  template <typename... Values>
  WEFT_DEVICE void begin_products(Values&... used) {
    (pin(used.value.at), ...);
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
  }
  /// Begins sums (+)= own other^T over all columns of two slices; `adds`: to what is there.
  template <typename Format>
  WEFT_DEVICE void multiply_slices(Each<Sums<8>>& sums, int own, int other, bool adds) {
    const std::uint64_t left = slice_descriptor(shared_address(own));
    const std::uint64_t right = slice_descriptor(shared_address(other));
    unroll<4>([&](auto step) {
      wgmma_slices<Format::kIsBFloat16>(sums.value.at, left + step * kNextColumns, right + step * kNextColumns,
                                        step > 0 || adds ? 1 : 0);
    });
  }
  /// Begins sums += weights slice over all rows of a slice.
  template <typename Format>
  WEFT_DEVICE void multiply_weights(Each<Sums<8>>& sums, Each<PackedWeights>& weights, int slice) {
    const std::uint64_t right = slice_descriptor(shared_address(slice));
    unroll<4>([&](auto step) {
      wgmma_weights<Format::kIsBFloat16>(sums.value.at, weights.value.at[step], right + step * kNextRows);
    });
  }
  /// What follows begins when `value` is known, which is not negative. Without that the assembler moves a wait in front
  /// of everything that does not need it, though it is written behind: a branch it does not cross.
  WEFT_DEVICE void order(const Each<float>& value) {
    if (value.value < 0) {
      asm volatile("trap;\n" ::: "memory");
    }
  }
  /// Ends a group of products of slices.
  WEFT_DEVICE void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
  /// Waits until at most kPending groups are under way: then `ready` may be read, and slices and weights written again.
  template <int kPending, typename... Values>
  WEFT_DEVICE void wait_products(Values&... ready) {
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
    (pin(ready.value.at), ...);
  }

  /// Two numbers, rounded to the nearest, the first one low.
  template <typename Format>
  static WEFT_DEVICE std::uint32_t pack(float low, float high) {
    std::uint32_t pair;
    if constexpr (Format::kIsBFloat16) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
    }
    return pair;
  }

  template <typename Format>
  static WEFT_DEVICE float unpack(std::uint16_t bits) {
    float number;
    if constexpr (Format::kIsBFloat16) {
      number = __uint_as_float(static_cast<unsigned>(bits) << 16);
    } else {
      asm("cvt.f32.f16 %0, %1;\n" : "=f"(number) : "h"(bits));
    }
    return number;
  }

  /// to = `from` of the lane source(thread) of the same warp.
  template <typename T, typename Source>
  WEFT_DEVICE void shuffle(Each<T>& to, const Each<T>& from, const Source& source) {
    to.value = __shfl_sync(0xFFFFFFFFU, from.value, source(static_cast<int>(threadIdx.x)));
  }

  /// Whether it is so in any thread of the block; a barrier.
  WEFT_DEVICE bool any(const Each<bool>& is_so) { return __syncthreads_or(is_so.value ? 1 : 0) != 0; }

  /// The same number. What follows from it is computed again, rather than kept in a register from before.
  static WEFT_DEVICE int forget(int number) {
    asm volatile("" : "+r"(number));
    return number;
  }

  /// a b + c, rounded once.
  static WEFT_DEVICE float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  /// The greater one; the number where the other one is NaN.
  static WEFT_DEVICE float greater(float a, float b) { return fmaxf(a, b); }
  /// 2^x within two units in the last place; 0 for -infinity.
  static WEFT_DEVICE float exp2(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(result) : "f"(x));
    return result;
  }
  static WEFT_DEVICE float log(float x) { return logf(x); }
};

#endif

}  // namespace weft::kernels::cuda
