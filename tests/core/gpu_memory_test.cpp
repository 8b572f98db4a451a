// SPDX-License-Identifier: Apache-2.0
// LibTorch's message about a GPU that is full, as one line.
#include "weft/core/system/gpu_memory.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(GpuMemory, WhatDoesNotSufficeIsOneLineWithItsSizes) {
  EXPECT_EQ(
      missing_gpu_memory("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.11 GiB "
                         "of which 1.20 GiB is free. Process 7 has 77.9 GiB memory in use."),
      "not enough memory on cuda:1: LibTorch asked for 2.00 GiB, and 1.20 GiB of 79.11 GiB are free");
  EXPECT_EQ(missing_gpu_memory("CUDA out of memory, in words of a later version"), "not enough memory on the GPU");
  EXPECT_EQ(missing_gpu_memory("not enough memory"), "");
}

// Not LibTorch's allocator: CUDA itself, and cuBLAS, which say no sizes.
TEST(GpuMemory, OthersThanTheAllocatorRunOutOfItToo) {
  EXPECT_EQ(missing_gpu_memory("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
            "not enough memory on the GPU");
  EXPECT_EQ(missing_gpu_memory("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
            "not enough memory on the GPU");
  EXPECT_EQ(missing_gpu_memory("CUDA error: an illegal memory access was encountered"), "");
}

}  // namespace
}  // namespace weft
