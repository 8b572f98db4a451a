// SPDX-License-Identifier: Apache-2.0
// Where the CUDA kernels run: the kind of device that tensors lie on, the library that launches, and the stream that
// LibTorch computes on. Tests have one that is the CPU, with a library of the same kernels on emulated lanes.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>

#include "weft/attention/backends/answer.h"
#include "weft/attention/backends/cuda/library.h"

namespace weft::attention {

struct KernelDevice {
  c10::DeviceType type;
  const CudaLibrary& (*library)();
  /// The cudaStream_t of a stream.
  void* (*handle_of)(const c10::Stream& stream);
};

/// NVIDIA's GPUs.
extern const KernelDevice kCudaDevice;

/// Whether the library is there and serves the device: the last question of those of takes(). Errors: those of the
/// library.
Answer serves_device(const KernelDevice& kernels, c10::Device device);

/// Launches on a device: it is the current one for the scope, and work goes to LibTorch's current stream, so that it
/// follows what LibTorch launched before.
class Launch {
 public:
  /// Errors: those of the library, and of check().
  Launch(const KernelDevice& kernels, c10::Device device);
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  const c10::Stream& stream() const noexcept { return stream_; }
  const CudaLibrary& library() const noexcept { return library_; }
  void* handle() const { return kernels_.handle_of(stream_); }
  /// Errors: kUnsupported where `problem`, which a function of the library returned, is not null.
  void check(const char* problem) const;

 private:
  const KernelDevice& kernels_;
  const CudaLibrary& library_;
  c10::DeviceGuard guard_;
  c10::Stream stream_;
};

}  // namespace weft::attention
