// SPDX-License-Identifier: Apache-2.0
// dlopen with RTLD_LOCAL: the run-time library inside binds to nobody else's names, and nobody to it.
#include "weft/attention/backends/cuda/library.h"

#include <dlfcn.h>

#include <optional>
#include <string_view>

#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/one_line.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"

namespace weft::attention {
namespace {

constexpr const char* kCudaFile = "libweft_cuda.so";
constexpr const char* kCudaVariable = "WEFT_CUDA_LIBRARY";
constexpr const char* kCudaHint =
    "build it from the sources of this Weft (docs/cuda.md), or take it away: attention is then made of LibTorch's "
    "products";

[[noreturn]] void refuse_library(const std::filesystem::path& file, const std::string& reason) {
  throw Error(ErrorKind::kUnsupported,
              concat("cannot use the CUDA kernels of ", Quoted(file.string(), 200), ": ", reason), kCudaHint);
}

std::string last_loader_error() {
  const char* const reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it for each thread
  return one_line(reason == nullptr ? "no reason was given" : reason);
}

template <typename Function>
void find_in_cuda(void* library, const std::filesystem::path& file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    refuse_library(file, concat("it has no function ", name));
  }
}

// Structs travel by address, so that both sides must be compiled from the same sources.
void check_is_ours(void* library, const std::filesystem::path& file) {
  decltype(&::weft_cuda_version) version = nullptr;
  decltype(&::weft_cuda_call_bytes) call_bytes = nullptr;
  find_in_cuda(library, file, "weft_cuda_version", version);
  find_in_cuda(library, file, "weft_cuda_call_bytes", call_bytes);
  if (version() != kVersion) {
    refuse_library(file, concat("it is of Weft ", Quoted(version(), 40), ", and this is ", kVersion));
  }
  if (call_bytes() != kernels::cuda::kCallBytes) {
    refuse_library(file, concat("it was built from other sources: a call and its items have ", call_bytes(),
                                " bytes there, and ", kernels::cuda::kCallBytes, " here"));
  }
}

// The folder of the file that this code is in.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&open_cuda_library), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  return std::filesystem::path(info.dli_fname).parent_path();
}

CudaLibrary find_library() {
  const std::optional<std::string> named = environment(kCudaVariable);
  if (!named.has_value() || named->empty()) {
    return open_cuda_library(own_folder() / kCudaFile);
  }
  CudaLibrary found = open_cuda_library(*named);
  if (!found.absence.empty()) {
    throw Error(ErrorKind::kUnsupported, concat(kCudaVariable, " names ", Quoted(*named, 200), ", which is no file"),
                concat("name the file ", kCudaFile, ", or unset the variable"));
  }
  return found;
}

}  // namespace

CudaLibrary open_cuda_library(const std::filesystem::path& file) {
  CudaLibrary found;
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) {
    found.absence = concat("the CUDA kernels need ", kCudaFile, ", which is not at ", Quoted(file.string(), 200));
    return found;
  }
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse_library(file, last_loader_error());
  }
  check_is_ours(library, file);
  find_in_cuda(library, file, "weft_cuda_forward", found.forward);
  find_in_cuda(library, file, "weft_cuda_backward", found.backward);
  find_in_cuda(library, file, "weft_cuda_decode", found.decode);
  find_in_cuda(library, file, "weft_cuda_drop_elements", found.drop_elements);
  find_in_cuda(library, file, "weft_cuda_rotate", found.rotate);
  find_in_cuda(library, file, "weft_cuda_use_device", found.use_device);
  find_in_cuda(library, file, "weft_cuda_device_problem", found.device_problem);
  return found;
}

const CudaLibrary& cuda_library() {
  static const CudaLibrary library = find_library();
  return library;
}

}  // namespace weft::attention
