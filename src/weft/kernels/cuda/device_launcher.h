// SPDX-License-Identifier: Apache-2.0
// Launches passes on a stream of a GPU. Each file of compiled/ compiles those of one dtype and direction.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <mutex>

#include "weft/kernels/cuda/compiled/launches.h"
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

/// In code for 9.0 all thread blocks begin with this. The next pass may be placed once all blocks of this one have
/// begun, where blocks that are through leave room. It waits here until the pass before it is through, with all that
/// it wrote, and so, one after the other, with all passes of the call: nothing is read or written before. Every kernel
/// that is launched early must wait so, or the ones behind it would wait for too little. What comes behind the last
/// pass is not ours, and might not wait: it begins when that pass is through.
WEFT_DEVICE void await_pass_before(bool is_last) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if (!is_last) {
    asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
  }
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
#endif
}

template <typename Pass>
__global__ void __launch_bounds__(Pass::kThreads, resident<Pass>())
    run_pass(const __grid_constant__ DeviceCall call, bool is_last) {
  await_pass_before(is_last);
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

/// The passes of one call, on one stream. On a GPU of 9.0 those behind the first are placed while the last thread
/// blocks of the one before run, and wait for it (await_pass_before()), so that what a launch costs passes meanwhile.
/// The first one is launched as any kernel: what ran before on the stream is not ours, and may itself not have waited
/// for all that it follows. Other code does not wait, and is launched without that everywhere. A pass is launched when
/// the next one comes, or finish(): only then it is known whether it is the last one.
class DeviceLauncher {
 public:
  explicit DeviceLauncher(void* stream) : stream_(static_cast<cudaStream_t>(stream)) {
    int device = 0;
    error_ = cudaGetDevice(&device);
    if (error_ == cudaSuccess) {
      error_ = cudaDeviceGetAttribute(&capability_, cudaDevAttrComputeCapabilityMajor, device);
    }
  }

  template <typename Pass>
  void launch(const DeviceCall& call) {
    const Grid grid = Pass::grid(call);
    if (error_ != cudaSuccess || blocks_of(grid) == 0) {
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
      begin_held(false);
      held_ = {&DeviceLauncher::begin<Pass>, grid, shared, call};
    }
  }
  /// Begins the last pass. Null, or what CUDA says is wrong.
  const char* finish() {
    begin_held(true);
    return error_ == cudaSuccess ? nullptr : cudaGetErrorString(error_);
  }
  /// Whether the machine code of the device is that of sm_90a, which runs on 9.0 only: it has products of slices.
  bool has_slice_products() const { return capability_ == 9; }

 private:
  /// A pass that is not launched yet.
  struct Held {
    void (DeviceLauncher::*begin)(const Held& of, bool is_last) = nullptr;
    Grid grid;
    int shared = 0;
    DeviceCall call;
  };
  static constexpr std::int64_t kMostBlocks = 65535;  // of a grid's second and third dimension
  static constexpr int kSharedWithoutAsking = 48 * 1024;

  void begin_held(bool is_last) {
    if (held_.begin != nullptr && error_ == cudaSuccess) {
      (this->*held_.begin)(held_, is_last);
    }
    held_.begin = nullptr;
  }

  template <typename Pass>
  void begin(const Held& of, bool is_last) {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t launch{};
    launch.gridDim =
        dim3(static_cast<unsigned>(of.grid.x), static_cast<unsigned>(of.grid.y), static_cast<unsigned>(of.grid.z));
    launch.blockDim = dim3(Pass::kThreads);
    launch.dynamicSmemBytes = static_cast<std::size_t>(of.shared);
    launch.stream = stream_;
    launch.attrs = &early;
    launch.numAttrs = has_pass_before_ && has_slice_products() ? 1 : 0;
    error_ = cudaLaunchKernelEx(&launch, run_pass<Pass>, of.call, is_last);
    if (error_ != cudaSuccess) {
      cudaGetLastError();  // told by finish(), and not again by the next call
    }
    has_pass_before_ = true;
  }

  cudaStream_t stream_;
  Held held_;
  int capability_ = 0;
  bool has_pass_before_ = false;
  cudaError_t error_ = cudaSuccess;
};

template <typename Format>
const char* launch_forward(const DeviceCall& call, void* stream) {
  DeviceLauncher launcher(stream);
  run_forward<Format>(launcher, call);
  return launcher.finish();
}

template <typename Format>
const char* launch_backward(const DeviceCall& call, void* stream) {
  DeviceLauncher launcher(stream);
  run_backward<Format>(launcher, call);
  return launcher.finish();
}

template <typename Format>
const char* launch_decode(const DeviceCall& call, void* stream) {
  DeviceLauncher launcher(stream);
  run_decode<Format>(launcher, call);
  return launcher.finish();
}

}  // namespace weft::kernels::cuda
