// SPDX-License-Identifier: Apache-2.0
// The doors of libweft_cuda.so: which dtype a call has.
#include "weft/kernels/cuda/library.h"

#include "weft/kernels/cuda/compiled/launches.h"
#include "weft/kernels/cuda/format.h"

using weft::kernels::cuda::DeviceCall;
using weft::kernels::cuda::with_call_format;

const char* weft_cuda_forward(const DeviceCall* call, void* stream) {
  return with_call_format(
      *call, [&]<typename Format>(Format) { return weft::kernels::cuda::launch_forward<Format>(*call, stream); });
}

const char* weft_cuda_backward(const DeviceCall* call, void* stream) {
  return with_call_format(
      *call, [&]<typename Format>(Format) { return weft::kernels::cuda::launch_backward<Format>(*call, stream); });
}

const char* weft_cuda_decode(const DeviceCall* call, void* stream) {
  return with_call_format(
      *call, [&]<typename Format>(Format) { return weft::kernels::cuda::launch_decode<Format>(*call, stream); });
}

unsigned long weft_cuda_call_bytes() { return weft::kernels::cuda::kCallBytes; }
