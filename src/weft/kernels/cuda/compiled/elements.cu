// SPDX-License-Identifier: Apache-2.0
// The passes over elements as kernels of a GPU, and what the library says of itself and of a device.
#include "weft/kernels/cuda/elements.h"

#include <cuda_runtime.h>

#include <atomic>
#include <thread>

#include "weft/core/version.h"
#include "weft/kernels/cuda/elements_library.h"

namespace weft::kernels::cuda {
namespace {

template <typename Pass>
__global__ void __launch_bounds__(Pass::kThreads) run_elements(const __grid_constant__ typename Pass::Call call) {
  DeviceLanes<Pass::kThreads> lanes;
  Pass::block(lanes, call, {blockIdx.x, 0, 0});
}

struct ElementLauncher {
  cudaStream_t stream;
  cudaError_t error = cudaSuccess;

  template <typename Pass>
  void launch(const typename Pass::Call& call) {
    const auto blocks = static_cast<unsigned>(Pass::grid(call).x);
    if (blocks > 0) {
      run_elements<Pass><<<blocks, Pass::kThreads, 0, stream>>>(call);
      error = cudaGetLastError();
    }
  }
  const char* problem() const { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }
};

/// Asks a device for a kernel's attributes. In a thread of its own: the caller's current device stays, and no other one
/// gets a context.
cudaError_t ask_for_code(int device) {
  cudaError_t error = cudaSuccess;
  std::thread([device, &error] {
    error = cudaSetDevice(device);
    if (error == cudaSuccess) {
      cudaFuncAttributes found;
      error = cudaFuncGetAttributes(&found, run_elements<DropElements<Float32Format>>);
    }
  }).join();
  return error;
}

/// Whether the library has machine code that runs on a device: all of its files have that of the same architectures, so
/// that one kernel tells of all. Null, or why not. What stays so is asked once.
const char* code_problem(int device) {
  constexpr const char* kNone = "libweft_cuda has no machine code for this GPU; docs/cuda.md has those it is built for";
  enum Answer { kUnknown, kHasCode, kHasNone };
  constexpr int kDevices = 64;
  static std::atomic<Answer> answers[kDevices];
  std::atomic<Answer>* const known = device >= 0 && device < kDevices ? &answers[device] : nullptr;
  Answer answer = known == nullptr ? kUnknown : known->load(std::memory_order_relaxed);
  if (answer == kUnknown) {
    const cudaError_t error = ask_for_code(device);
    const bool has_none = error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction;
    if (error != cudaSuccess && !has_none) {
      return cudaGetErrorString(error);
    }
    answer = has_none ? kHasNone : kHasCode;
    if (known != nullptr) {
      known->store(answer, std::memory_order_relaxed);
    }
  }
  return answer == kHasNone ? kNone : nullptr;
}

}  // namespace
}  // namespace weft::kernels::cuda

const char* weft_cuda_drop_elements(const weft::kernels::ElementDropout* call, void* stream) {
  weft::kernels::cuda::ElementLauncher launcher{static_cast<cudaStream_t>(stream)};
  weft::kernels::cuda::run_dropout(launcher, *call);
  return launcher.problem();
}

const char* weft_cuda_rotate(const weft::kernels::cuda::DeviceRotation* call, void* stream) {
  weft::kernels::cuda::ElementLauncher launcher{static_cast<cudaStream_t>(stream)};
  weft::kernels::cuda::run_rotation(launcher, *call);
  return launcher.problem();
}

const char* weft_cuda_version() { return weft::kVersion.data(); }

const char* weft_cuda_use_device(int device) {
  const cudaError_t error = cudaSetDevice(device);
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

const char* weft_cuda_device_problem(int device) { return weft::kernels::cuda::code_problem(device); }
