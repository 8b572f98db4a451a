// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs: the fused kernels of libweft_cuda.so. What it has no row for is made of LibTorch's products, which the
// portable backend has.
#pragma once

#include "weft/attention/backends/backend.h"
#include "weft/attention/backends/cuda/cuda_attention.h"
#include "weft/attention/backends/cuda/cuda_elements.h"

namespace weft::attention {

/// The rows of a backend over a kind of device.
template <const KernelDevice& kKernels>
struct CudaRows {
  static Answer takes(const Call& call) { return cuda_takes(kKernels, call); }
  static Forward forward(const Call& call) { return cuda_forward(kKernels, call); }
  static Gradients backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
    return cuda_backward(kKernels, call, forward, output_gradient);
  }
  static std::optional<Forward> decode(const Call& call) { return cuda_forward(kKernels, call); }
  static Answer takes_dropout(const DropoutCall& call) { return cuda_takes_dropout(kKernels, call); }
  static at::Tensor dropout(const DropoutCall& call) { return cuda_dropout(kKernels, call); }
  static Answer takes_rotation(const RotationCall& call) { return cuda_takes_rotation(kKernels, call); }
  static void rotation(const RotationCall& call, const at::Tensor& output) { cuda_rotation(kKernels, call, output); }

  static constexpr Way kWays[] = {{Path::kFused, true, takes, forward, backward}};
  static constexpr DecodeWay kDecoding[] = {{takes, decode}};
  static constexpr Backend kBackend = {
      .name = "cuda",
      .ways = kWays,
      .decode = kDecoding,
      .dropout = {takes_dropout, dropout},
      .rotation = {takes_rotation, rotation},
  };
};

extern const Backend kCudaBackend;

}  // namespace weft::attention
