// SPDX-License-Identifier: Apache-2.0
// What lets one source be a kernel of a GPU and a function of a test: the mark of functions that run there, that of
// loops which are not unrolled, and loops that are for certain, so that arrays stay in registers. No STL container
// here.
#pragma once

#if defined(__CUDACC__)
#define WEFT_DEVICE __device__ __forceinline__
#define WEFT_DEVICE_LOOP _Pragma("unroll 1")
#else
#define WEFT_DEVICE inline
#define WEFT_DEVICE_LOOP
#endif

namespace weft::kernels::cuda {

#if defined(__CUDACC__)

/// An index that is known when the program is compiled.
template <int kAt>
struct Index {
  __device__ constexpr operator int() const noexcept { return kAt; }
};

/// Calls work(0) ... work(kCount - 1) without a loop.
template <int kCount, int kAt = 0, typename Work>
WEFT_DEVICE void unroll(const Work& work) {
  if constexpr (kAt < kCount) {
    work(Index<kAt>{});
    unroll<kCount, kAt + 1>(work);
  }
}

#else

template <int kCount, typename Work>
inline void unroll(const Work& work) {
  for (int at = 0; at < kCount; ++at) {
    work(at);
  }
}

#endif

}  // namespace weft::kernels::cuda
