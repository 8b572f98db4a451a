// SPDX-License-Identifier: Apache-2.0
// libweft_cuda.so, opened when the first tensor on a GPU comes and not before: it brings CUDA's run-time library, and
// those who have no GPU need neither it nor anything of CUDA.
#pragma once

#include <filesystem>
#include <string>

#include "weft/kernels/cuda/elements_library.h"
#include "weft/kernels/cuda/library.h"

namespace weft::attention {

/// The functions of weft/kernels/cuda/library.h and elements_library.h.
struct CudaLibrary {
  decltype(&::weft_cuda_forward) forward = nullptr;
  decltype(&::weft_cuda_backward) backward = nullptr;
  decltype(&::weft_cuda_decode) decode = nullptr;
  decltype(&::weft_cuda_drop_elements) drop_elements = nullptr;
  decltype(&::weft_cuda_rotate) rotate = nullptr;
  decltype(&::weft_cuda_use_device) use_device = nullptr;
  decltype(&::weft_cuda_device_problem) device_problem = nullptr;
  /// Why there are no functions: one line. Empty where there are.
  std::string absence = {};
};

/// The functions of a file, or `absence` where it is not there. Errors: kUnsupported, with the file and what to do,
/// where it does not load, lacks a function, or belongs to another version of Weft.
CudaLibrary open_cuda_library(const std::filesystem::path& file);

/// The library that WEFT_CUDA_LIBRARY names, else libweft_cuda.so in the folder of libweft: opened once, never closed.
/// Errors: those of open_cuda_library(), each time; kUnsupported where the variable names no file.
const CudaLibrary& cuda_library();

}  // namespace weft::attention
