// SPDX-License-Identifier: Apache-2.0
// dlopen and dlsym; the reason is what dlerror says.
#include "weft/core/system/opened_library.h"

#include <dlfcn.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/core/one_line.h"

namespace weft {

OpenedLibrary::OpenedLibrary(std::string file, std::string needed_for, std::string hint)
    : file_(std::move(file)),
      needed_for_(std::move(needed_for)),
      hint_(std::move(hint)),
      handle_(dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    fail();
  }
}

void* OpenedLibrary::address_of(const char* name) const {
  void* const address = dlsym(handle_, name);
  if (address == nullptr) {
    fail();
  }
  return address;
}

void OpenedLibrary::fail() const {
  const char* const reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it for each thread
  throw Error(ErrorKind::kUnsupported,
              concat(needed_for_, ": ", file_, " does not load: ", one_line(reason != nullptr ? reason : "")), hint_);
}

}  // namespace weft
