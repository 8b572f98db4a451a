// SPDX-License-Identifier: Apache-2.0
// The kernels of libweft_cuda.so: every pass as a kernel of a GPU, launched in its order.
#include "weft/kernels/cuda/library.h"

#include <cuda_runtime.h>

#include "weft/kernels/cuda/passes.h"

namespace weft::kernels::cuda {
namespace {

constexpr std::int64_t kMostBlocks = 65535;  // of a grid's second and third dimension
constexpr int kSharedWithoutAsking = 48 * 1024;

template <typename Pass>
__global__ void __launch_bounds__(Pass::kThreads) run_pass(const __grid_constant__ DeviceCall call) {
  DeviceLanes<Pass::kThreads> lanes;
  Pass::block(lanes, call, {blockIdx.x, blockIdx.y, blockIdx.z});
}

struct DeviceLauncher {
  cudaStream_t stream;
  cudaError_t error = cudaSuccess;

  template <typename Pass>
  void launch(const DeviceCall& call) {
    const Grid grid = Pass::grid(call);
    if (error != cudaSuccess || grid.x * grid.y * grid.z == 0) {
      return;
    }
    if (grid.y > kMostBlocks || grid.z > kMostBlocks) {
      error = cudaErrorInvalidConfiguration;
      return;
    }
    const int shared = Pass::shared_bytes(call);
    if (shared > kSharedWithoutAsking) {
      error = cudaFuncSetAttribute(run_pass<Pass>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    }
    if (error == cudaSuccess) {
      const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z));
      run_pass<Pass><<<blocks, Pass::kThreads, static_cast<std::size_t>(shared), stream>>>(call);
      error = cudaGetLastError();
    }
  }
  const char* problem() const { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }
};

}  // namespace
}  // namespace weft::kernels::cuda

const char* weft_cuda_forward(const weft::kernels::cuda::DeviceCall* call, void* stream) {
  weft::kernels::cuda::DeviceLauncher launcher{static_cast<cudaStream_t>(stream)};
  weft::kernels::cuda::run_forward(launcher, *call);
  return launcher.problem();
}

const char* weft_cuda_backward(const weft::kernels::cuda::DeviceCall* call, void* stream) {
  weft::kernels::cuda::DeviceLauncher launcher{static_cast<cudaStream_t>(stream)};
  weft::kernels::cuda::run_backward(launcher, *call);
  return launcher.problem();
}

unsigned long weft_cuda_call_bytes() { return sizeof(weft::kernels::cuda::DeviceCall); }
