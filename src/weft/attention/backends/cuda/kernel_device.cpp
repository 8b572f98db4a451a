// SPDX-License-Identifier: Apache-2.0
// LibTorch's CUDA libraries are not linked: what registered itself for the kind of device, when they were opened, gives
// streams and their handles.
#include "weft/attention/backends/cuda/kernel_device.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "weft/core/error.h"
#include "weft/core/one_line.h"

namespace weft::attention {
namespace {

void* native_handle(const c10::Stream& stream) { return stream.native_handle(); }

}  // namespace

constinit const KernelDevice kCudaDevice = {c10::DeviceType::CUDA, cuda_library, native_handle};

Answer serves_device(const KernelDevice& kernels, c10::Device device) {
  const CudaLibrary& library = kernels.library();
  if (!library.absence.empty()) {
    return Answer::no(library.absence.c_str());
  }
  const char* const problem = library.device_problem(device.index());
  return Answer::unless(problem != nullptr, problem);
}

Launch::Launch(const KernelDevice& kernels, c10::Device device)
    : kernels_(kernels),
      library_(kernels.library()),
      guard_(device),
      stream_(c10::impl::VirtualGuardImpl(kernels.type).getStream(device)) {
  check(library_.use_device(stream_.device_index()));
}

void Launch::check(const char* problem) const {
  if (problem != nullptr) {
    fail(ErrorKind::kUnsupported, "attention: a CUDA kernel does not start on ", stream_.device(), ": ",
         one_line(problem));
  }
}

}  // namespace weft::attention
