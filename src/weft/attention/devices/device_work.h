// SPDX-License-Identifier: Apache-2.0
// What one asks of a device that computes: whether its work is done, how much memory the work took, which numbers it is
// fast at, and its name. A CPU answers each at once.
#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

#include "weft/attention/devices/cuda_driver.h"

namespace weft::attention {

/// Whether tensors of `device` lie elsewhere than in the memory of the CPU, and LibTorch counts what they take.
bool has_own_memory(c10::Device device);

/// Waits until `device` has done all that it was given. A CPU has, when a call returns.
void synchronise(c10::Device device);

/// From here on device_peak() counts anew. Nothing on a CPU.
void reset_device_peak(c10::Device device);
/// The most bytes of tensors that LibTorch's allocator of `device` held at once since reset_device_peak(), those that
/// were there before among them; 0 on a CPU.
std::int64_t device_peak(c10::Device device);
/// The bytes of tensors that it holds now; 0 on a CPU.
std::int64_t device_bytes(c10::Device device);

/// Whether LibTorch multiplies bfloat16 faster than float32 on `device`: on a CPU has_fast_bfloat16(), on a GPU from
/// compute capability 8.0 on, as `driver` says it; not on a GPU that it does not know.
bool is_fast_at_bfloat16(c10::Device device, const CudaDriver& driver);
bool is_fast_at_bfloat16(c10::Device device);

/// "NVIDIA H100 80GB HBM3, compute capability 9.0", or of the CPU cpu_description(); the name of the device for a GPU
/// that `driver` does not know.
std::string device_description(c10::Device device, const CudaDriver& driver);
std::string device_description(c10::Device device);

}  // namespace weft::attention
