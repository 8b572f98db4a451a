// SPDX-License-Identifier: Apache-2.0
// The passes of a call in one dtype. compiled/ has a file for each dtype and direction: Format is one of format.h's.
#pragma once

#include "weft/kernels/cuda/device_call.h"

namespace weft::kernels::cuda {

/// Each begins its passes on a cudaStream_t. Null, or what CUDA says is wrong.
template <typename Format>
const char* launch_forward(const DeviceCall& call, void* stream);
template <typename Format>
const char* launch_backward(const DeviceCall& call, void* stream);
template <typename Format>
const char* launch_decode(const DeviceCall& call, void* stream);

}  // namespace weft::kernels::cuda
