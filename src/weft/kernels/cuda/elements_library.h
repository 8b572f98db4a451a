// SPDX-License-Identifier: Apache-2.0
// What libweft_cuda.so offers besides attention: passes over the elements of a tensor, and what it is. Every function
// that launches begins on a cudaStream_t and returns null, or what CUDA says is wrong, as a static text.
#pragma once

#include "weft/kernels/cuda/device_elements.h"
#include "weft/kernels/element_dropout.h"

extern "C" {

/// The draws are those of DropoutDraws::kSecond; dtypes are float32, bfloat16 and float16.
const char* weft_cuda_drop_elements(const weft::kernels::ElementDropout* call, void* stream);
const char* weft_cuda_rotate(const weft::kernels::cuda::DeviceRotation* call, void* stream);

/// The version of Weft that it was built from.
const char* weft_cuda_version();
/// Makes a device the one that this thread launches on: the run-time library inside has a current device of its own.
const char* weft_cuda_use_device(int device);
/// Null where the library has machine code that runs on a device, by its index; else why not, as a static text. A
/// device is asked once.
const char* weft_cuda_device_problem(int device);
}
