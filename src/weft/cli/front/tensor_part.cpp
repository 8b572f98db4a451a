// SPDX-License-Identifier: Apache-2.0
// Opens libweft by its name: the run path of the library that this file is in says where. Where its own run path finds
// no LibTorch, one that a Python has is opened first; libweft then takes that.
#include "weft/cli/front/tensor_part.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "weft/cli/front/libtorch_folders.h"
#include "weft/cli/front/libtorch_version.h"
#include "weft/core/error.h"
#include "weft/core/system/large_heap.h"

namespace weft::cli {
namespace {

constexpr const char* kLibrary = WEFT_TENSOR_LIBRARY;
constexpr const char* kHint =
    "commands that compute need LibTorch: name its folder with libtorch_cpu.so in WEFT_LIBTORCH, or install PyTorch "
    "for this user (pip install torch), or link LibTorch into the installation as docs/installing.md says";

[[noreturn]] void fail_to_open() {
  const char* reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it for each thread
  throw Error(ErrorKind::kUnsupported,
              concat("cannot open ", kLibrary, ": ", reason == nullptr ? "no reason was given" : reason), kHint);
}

// libweft, over the LibTorch of a folder.
void* library_over(const std::filesystem::path& folder) {
  for (const char* name : {"libc10.so", "libtorch_cpu.so"}) {
    if (::dlopen((folder / name).c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
      return nullptr;
    }
  }
  return ::dlopen(kLibrary, RTLD_LAZY | RTLD_GLOBAL);
}

void* open_library() {
  prepare_large_heap();
  void* library = ::dlopen(kLibrary, RTLD_LAZY | RTLD_GLOBAL);
  if (library != nullptr) {
    return library;
  }
  // One only: what it left open would be in the way of another one.
  const std::vector<std::filesystem::path> folders = libtorch_folders();
  return folders.empty() ? nullptr : library_over(folders.front());
}

// `library`: libweft, whose symbols are looked for in what it is linked to, too.
void check_version(void* library) {
  void* symbol = ::dlsym(library, "aoti_torch_abi_version");
  if (symbol != nullptr) {
    check_libtorch_version(reinterpret_cast<std::uint64_t (*)()>(symbol)(), compiled_for());
  }
}

const TensorPart& open() {
  // A program that is linked to libweft, or a test that contains it, has the symbol already.
  void* symbol = ::dlsym(RTLD_DEFAULT, "weft_tensor_part");
  if (symbol == nullptr) {
    void* library = open_library();
    symbol = library == nullptr ? nullptr : ::dlsym(library, "weft_tensor_part");
    if (symbol == nullptr) {
      fail_to_open();
    }
    check_version(library);
  }
  return *reinterpret_cast<decltype(&weft_tensor_part)>(symbol)();
}

}  // namespace

const TensorPart& tensor_part() {
  static const TensorPart& part = open();
  return part;
}

std::string_view compiled_for() noexcept { return WEFT_COMPILED_FOR; }

}  // namespace weft::cli
