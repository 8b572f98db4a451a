// SPDX-License-Identifier: Apache-2.0
// Attention by the CUDA kernels: from tensors to the struct that they are given, with the layout that is kept on the
// device and memory of LibTorch's allocator.
#pragma once

#include "weft/attention/backends/cuda/kernel_device.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// Whether the kernels take the call: float32, bfloat16 or float16 on the device, widths up to 256, tiles of 64 keys
/// and at most 64 queries, and every term but the relative one. Errors: those of the library.
Answer cuda_takes(const KernelDevice& kernels, const Call& call);

/// Key and value may hold anything where they are padded. Errors: kUnsupported where a kernel does not start.
Forward cuda_forward(const KernelDevice& kernels, const Call& call);
Gradients cuda_backward(const KernelDevice& kernels, const Call& call, const Forward& forward,
                        const at::Tensor& output_gradient);

}  // namespace weft::attention
