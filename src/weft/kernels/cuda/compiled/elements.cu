// SPDX-License-Identifier: Apache-2.0
// The passes over elements as kernels of a GPU, and what the library says of itself and of a device.
#include "weft/kernels/cuda/elements.h"

#include <cuda_runtime.h>

#include "weft/core/version.h"
#include "weft/kernels/cuda/elements_library.h"

namespace weft::kernels::cuda {
namespace {

constexpr int kLeastCapability = 8;  // mma.sync of bfloat16 and cp.async

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

const char* weft_cuda_device_problem(int device) {
  int major = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error != cudaSuccess) {
    return cudaGetErrorString(error);
  }
  return major >= weft::kernels::cuda::kLeastCapability
             ? nullptr
             : "the CUDA kernels need a GPU of compute capability 8.0 or later";
}
