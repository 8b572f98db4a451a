// SPDX-License-Identifier: Apache-2.0
// Dropout of elements, with the draws of the CPU, and rotary positions by the CUDA kernels.
#pragma once

#include "weft/attention/backends/calls.h"
#include "weft/attention/backends/cuda/kernel_device.h"

namespace weft::attention {

/// Errors of all: those of the library; kUnsupported where a kernel does not start.
Answer cuda_takes_dropout(const KernelDevice& kernels, const DropoutCall& call);
at::Tensor cuda_dropout(const KernelDevice& kernels, const DropoutCall& call);

Answer cuda_takes_rotation(const KernelDevice& kernels, const RotationCall& call);
void cuda_rotation(const KernelDevice& kernels, const RotationCall& call, const at::Tensor& output);

}  // namespace weft::attention
