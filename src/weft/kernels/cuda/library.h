// SPDX-License-Identifier: Apache-2.0
// What libweft_cuda.so offers: the passes of a call on a stream. Programs open it when the first call of a GPU comes,
// and need nothing of CUDA before.
#pragma once

#include "weft/kernels/cuda/device_call.h"

namespace weft::kernels::cuda {

/// Bytes of a call and of the items that it points to: who opens the library and the library must have the same.
inline constexpr unsigned long kCallBytes = sizeof(DeviceCall) + sizeof(WorkItem) + sizeof(JoinItem);

}  // namespace weft::kernels::cuda

extern "C" {

/// Begins the passes on a cudaStream_t; addresses of the call are the device's and hold until the stream is through.
/// Null, or what CUDA says is wrong, as a static text.
const char* weft_cuda_forward(const weft::kernels::cuda::DeviceCall* call, void* stream);
const char* weft_cuda_backward(const weft::kernels::cuda::DeviceCall* call, void* stream);
/// The forward pass of a call whose blocks have one query each (a tile of one, or a single query), without dropout. Its
/// rows are planned in parts of at most kLongestDecodePart blocks (plan.h).
const char* weft_cuda_decode(const weft::kernels::cuda::DeviceCall* call, void* stream);
/// kCallBytes of the library.
unsigned long weft_cuda_call_bytes();
}
