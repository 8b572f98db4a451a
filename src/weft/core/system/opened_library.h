// SPDX-License-Identifier: Apache-2.0
// A library of the system that is opened when something needs it, so that everything else works where it is missing.
#pragma once

#include <string>

namespace weft {

/// Opened with RTLD_LOCAL: it and what it needs bind to each other, and nobody else to them. It stays open for the rest
/// of the process.
class OpenedLibrary {
 public:
  /// `needed_for` begins messages ("cannot draw"), and `hint` says how to come by the library. Errors: kUnsupported
  /// with both and the system's reason where `file` does not load.
  OpenedLibrary(std::string file, std::string needed_for, std::string hint);

  /// Sets `function`, a pointer, to the library's `name`. Errors: as the constructor's where it has none.
  template <typename Function>
  void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;
  [[noreturn]] void fail() const;

  std::string file_;
  std::string needed_for_;
  std::string hint_;
  void* handle_;
};

}  // namespace weft
