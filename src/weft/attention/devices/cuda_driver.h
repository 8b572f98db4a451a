// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's driver says of this machine, asked by libcuda.so.1 alone: before LibTorch's CUDA half is opened, and
// without it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::attention {

/// One GPU.
struct CudaDevice {
  std::string name;  ///< "NVIDIA H100 80GB HBM3"
  int major = 0;     ///< of its compute capability
  int minor = 0;
  std::int64_t total_bytes = 0;  ///< of its memory
};

/// The GPUs that CUDA_VISIBLE_DEVICES lets this process see, in CUDA's order.
struct CudaDriver {
  int version = 0;  ///< the newest CUDA that it serves, as 1000 times the major version and 10 times the minor
  std::vector<CudaDevice> devices;
  std::string problem;  ///< one line: why there is no device; empty where there is one
};

/// Asked once in a process. Never throws for what a machine lacks.
const CudaDriver& cuda_driver();

/// Free bytes of device `index`, or -1 where the driver does not say. It makes the device's context, as the first
/// tensor there does.
std::int64_t free_cuda_bytes(int index);

/// "13.2" of 13020.
std::string cuda_version_text(int version);

}  // namespace weft::attention
