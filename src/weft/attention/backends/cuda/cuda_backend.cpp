// SPDX-License-Identifier: Apache-2.0
// The rows over LibTorch's CUDA devices.
#include "weft/attention/backends/cuda/cuda_backend.h"

namespace weft::attention {

constinit const Backend kCudaBackend = CudaRows<kCudaDevice>::kBackend;

}  // namespace weft::attention
