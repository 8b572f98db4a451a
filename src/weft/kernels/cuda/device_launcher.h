// SPDX-License-Identifier: Apache-2.0
// Launches passes on a stream of a GPU. Each file of compiled/ compiles those of one dtype and direction.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <mutex>

#include "weft/kernels/cuda/launches.h"
#include "weft/kernels/cuda/passes.h"

namespace weft::kernels::cuda {

/// How many thread blocks of a pass a multiprocessor must be able to hold. For sm_90 gradients have the registers of
/// three; for sm_80 the compiler spills so.
template <typename Pass>
constexpr int resident() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
  constexpr bool kIsOther = true;
#else
  constexpr bool kIsOther = false;
#endif
  if constexpr (kIsOther && requires { Pass::kResidentElsewhere; }) {
    return Pass::kResidentElsewhere;
  } else if constexpr (requires { Pass::kResident; }) {
    return Pass::kResident;
  }
  return 1;
}

template <typename Pass>
__global__ void __launch_bounds__(Pass::kThreads, resident<Pass>()) run_pass(const __grid_constant__ DeviceCall call) {
  DeviceLanes<Pass::kThreads> lanes;
  Pass::block(lanes, call, {blockIdx.x, blockIdx.y, blockIdx.z});
}

/// Lets a kernel have `bytes` of shared memory on the current device. Each device is asked once for each size that is
/// larger than those before, since asking costs as much as a launch.
template <typename Pass>
cudaError_t allow_shared(int bytes) {
  constexpr int kDevices = 64;
  static std::atomic<int> allowed[kDevices];
  static std::mutex asking;
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) {
    return error;
  }
  std::atomic<int>* const known = device < kDevices ? &allowed[device] : nullptr;
  if (known != nullptr && known->load(std::memory_order_acquire) >= bytes) {
    return cudaSuccess;
  }
  const std::scoped_lock lock(asking);
  if (known != nullptr && known->load(std::memory_order_relaxed) >= bytes) {
    return cudaSuccess;
  }
  const cudaError_t error = cudaFuncSetAttribute(run_pass<Pass>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error == cudaSuccess && known != nullptr) {
    known->store(bytes, std::memory_order_release);
  }
  return error;
}

class DeviceLauncher {
 public:
  explicit DeviceLauncher(void* stream) : stream_(static_cast<cudaStream_t>(stream)) {}

  template <typename Pass>
  void launch(const DeviceCall& call) {
    const Grid grid = Pass::grid(call);
    if (error_ != cudaSuccess || grid.x * grid.y * grid.z == 0) {
      return;
    }
    if (grid.y > kMostBlocks || grid.z > kMostBlocks) {
      error_ = cudaErrorInvalidConfiguration;
      return;
    }
    const int shared = Pass::shared_bytes(call);
    if (shared > kSharedWithoutAsking) {
      error_ = allow_shared<Pass>(shared);
    }
    if (error_ == cudaSuccess) {
      const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z));
      run_pass<Pass><<<blocks, Pass::kThreads, static_cast<std::size_t>(shared), stream_>>>(call);
      error_ = cudaGetLastError();
    }
  }
  /// Whether the machine code of the device has products of slices: that of sm_90a, which runs on 9.0 only.
  bool has_slice_products() const {
    int device = 0;
    int major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9;
  }
  const char* problem() const { return error_ == cudaSuccess ? nullptr : cudaGetErrorString(error_); }

 private:
  static constexpr std::int64_t kMostBlocks = 65535;  // of a grid's second and third dimension
  static constexpr int kSharedWithoutAsking = 48 * 1024;

  cudaStream_t stream_;
  cudaError_t error_ = cudaSuccess;
};

template <typename Format>
const char* launch_forward(const DeviceCall& call, void* stream) {
  DeviceLauncher launcher(stream);
  run_forward<Format>(launcher, call);
  return launcher.problem();
}

template <typename Format>
const char* launch_backward(const DeviceCall& call, void* stream) {
  DeviceLauncher launcher(stream);
  run_backward<Format>(launcher, call);
  return launcher.problem();
}

template <typename Format>
const char* launch_decode(const DeviceCall& call, void* stream) {
  DeviceLauncher launcher(stream);
  run_decode<Format>(launcher, call);
  return launcher.problem();
}

}  // namespace weft::kernels::cuda
