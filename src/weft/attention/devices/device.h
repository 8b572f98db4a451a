// SPDX-License-Identifier: Apache-2.0
// The device that a person names, "cpu", "cuda" or "cuda:1": checked before anything long begins, and where models are
// opened from then on. LibTorch's CUDA half is opened here, once a device of CUDA is asked for and not before.
#pragma once

#include <string>
#include <string_view>

#include <c10/core/Device.h>

#include "weft/attention/devices/cuda_driver.h"

namespace weft::attention {

/// "cpu", "cuda" or "cuda:N" as a device. "cuda" is the GPU of this process's LOCAL_RANK, which torchrun sets (mpirun:
/// OMPI_COMM_WORLD_LOCAL_RANK), and the first one without. Errors: kArgument for another name.
c10::Device parse_device(std::string_view name);

/// parse_device(), and the device can compute: for CUDA the driver, the GPU and LibTorch's CUDA half are looked at.
/// Errors: those of parse_device(), check_driver() and open_cuda_half().
c10::Device usable_device(std::string_view name);

/// Errors: kUnsupported where `driver` has no such device, or serves no CUDA of version `needed` (0: not known yet).
void check_driver(const CudaDriver& driver, c10::Device device, int needed);

/// From then on GPUs multiply float32 on tensor cores, which look at 11 bits of each factor (TF32), in the whole
/// process; without it their products are exact to float32. Errors: kArgument where `device` is no GPU.
void multiply_as_tf32(c10::Device device);

/// usable_device(), which multiplies as TF32 from then on where `tf32` says so. Errors: those of both.
c10::Device usable_device(std::string_view name, bool tf32);

/// Opens libtorch_cuda.so, which lies in `folder` beside libtorch_cpu.so, or does nothing where it is open already.
/// Errors: kUnsupported where it is not there or lacks a library.
void open_cuda_half(const std::string& folder);
/// The folder of the LibTorch that is loaded.
std::string libtorch_folder();

/// Where models are opened: that of the innermost OpenOn of this thread, or else that of open_models_on(), or the CPU.
c10::Device opening_device() noexcept;

/// For the rest of the process, in all threads.
void open_models_on(c10::Device device) noexcept;

/// For this thread and the current scope.
class OpenOn {
 public:
  explicit OpenOn(c10::Device device) noexcept;
  ~OpenOn();
  OpenOn(const OpenOn&) = delete;
  OpenOn& operator=(const OpenOn&) = delete;

 private:
  c10::Device before_;
  bool had_before_;
};

/// For tests that register a device by themselves: while one lives, usable_device() asks neither driver nor LibTorch,
/// in any thread.
class DevicesAreGiven {
 public:
  DevicesAreGiven() noexcept;
  ~DevicesAreGiven();
  DevicesAreGiven(const DevicesAreGiven&) = delete;
  DevicesAreGiven& operator=(const DevicesAreGiven&) = delete;
};

}  // namespace weft::attention
