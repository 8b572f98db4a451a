// SPDX-License-Identifier: Apache-2.0
// Opens libweft by its name: the run path of the library that this file is in says where.
#include "weft/cli/tensor_part.h"

#include <string>

#include <dlfcn.h>

#include "weft/core/error.h"

namespace weft::cli {
namespace {

constexpr const char* kLibrary = WEFT_TENSOR_LIBRARY;
constexpr const char* kHint =
    "commands that compute need LibTorch: put its folder with libtorch_cpu.so into LD_LIBRARY_PATH, or link LibTorch "
    "into the installation as docs/installing.md says";

[[noreturn]] void fail_to_open() {
  const char* reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it for each thread
  throw Error(ErrorKind::kUnsupported,
              concat("cannot open ", kLibrary, ": ", reason == nullptr ? "no reason was given" : reason), kHint);
}

const TensorPart& open() {
  // A program that is linked to libweft, or a test that contains it, has the symbol already.
  void* symbol = ::dlsym(RTLD_DEFAULT, "weft_tensor_part");
  if (symbol == nullptr) {
    void* library = ::dlopen(kLibrary, RTLD_LAZY | RTLD_GLOBAL);
    symbol = library == nullptr ? nullptr : ::dlsym(library, "weft_tensor_part");
  }
  if (symbol == nullptr) {
    fail_to_open();
  }
  return *reinterpret_cast<decltype(&weft_tensor_part)>(symbol)();
}

}  // namespace

const TensorPart& tensor_part() {
  static const TensorPart& part = open();
  return part;
}

}  // namespace weft::cli
