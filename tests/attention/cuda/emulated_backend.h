// SPDX-License-Identifier: Apache-2.0
// The backend for GPUs over tensors on the CPU and a library of its kernels on emulated lanes: every line of it but
// transfers and streams.
#pragma once

#include "weft/attention/backends/cuda/cuda_backend.h"

namespace weft::test {

inline const attention::CudaLibrary& emulated_library() {
  static const attention::CudaLibrary library = attention::open_cuda_library(WEFT_EMULATED_CUDA);
  return library;
}

inline void* no_stream(const c10::Stream& /*stream*/) { return nullptr; }

inline constexpr attention::KernelDevice kEmulatedDevice{c10::DeviceType::CPU, emulated_library, no_stream};

inline constexpr const attention::Backend& kEmulatedCuda = attention::CudaRows<kEmulatedDevice>::kBackend;

}  // namespace weft::test
