// SPDX-License-Identifier: Apache-2.0
// libweft_cuda.so without a GPU: its functions over host memory, on emulated lanes.
#include "weft/kernels/cuda/library.h"

#include "kernels/cuda/emulated_passes.h"
#include "weft/core/version.h"
#include "weft/kernels/cuda/elements_library.h"

const char* weft_cuda_forward(const weft::kernels::cuda::DeviceCall* call, void*) {
  weft::test::emulate_forward(*call);
  return nullptr;
}

const char* weft_cuda_backward(const weft::kernels::cuda::DeviceCall* call, void*) {
  weft::test::emulate_backward(*call);
  return nullptr;
}

const char* weft_cuda_decode(const weft::kernels::cuda::DeviceCall* call, void*) {
  weft::test::emulate_decode(*call);
  return nullptr;
}

unsigned long weft_cuda_call_bytes() { return weft::kernels::cuda::kCallBytes; }

const char* weft_cuda_drop_elements(const weft::kernels::ElementDropout* call, void*) {
  weft::test::emulate_dropout(*call);
  return nullptr;
}

const char* weft_cuda_rotate(const weft::kernels::cuda::DeviceRotation* call, void*) {
  weft::test::emulate_rotation(*call);
  return nullptr;
}

const char* weft_cuda_version() { return weft::kVersion.data(); }

const char* weft_cuda_use_device(int) { return nullptr; }

const char* weft_cuda_device_problem(int) { return nullptr; }
