// SPDX-License-Identifier: Apache-2.0
// Known errors print what they say. LibTorch's own errors carry a C++ backtrace, of which a user wants the first line.
#include "weft/cli/failure.h"

#include <algorithm>
#include <iostream>
#include <new>

#include <c10/util/Exception.h>

namespace weft::cli {
namespace {

std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

}  // namespace

void print_error(const std::string& message, const std::string& hint) {
  std::cerr << "weft: error: " << message << '\n';
  if (!hint.empty()) {
    std::cerr << "hint: " << hint << '\n';
  }
  std::cerr.flush();
}

// From the most particular kind of failure to the least: UsageError is an Error too.
int report(const std::exception& failure) {
  if (const auto* usage = dynamic_cast<const UsageError*>(&failure)) {
    print_error(usage->what(), usage->hint());
    return kMisuse;
  }
  if (const auto* error = dynamic_cast<const Error*>(&failure)) {
    print_error(error->what(), error->hint());
    return error->kind() == ErrorKind::kInterrupted ? kInterruptedExit : kKnownError;
  }
  if (const auto* error = dynamic_cast<const c10::Error*>(&failure)) {
    const std::string message = first_line(error->what_without_backtrace());
    // LibTorch's CPU allocator has no exception of its own: "DefaultCPUAllocator: not enough memory: ..." is all it
    // says.
    const bool memory = message.find("not enough memory") != std::string::npos;
    print_error(message, memory ? "a shorter context, a smaller batch or fewer layers need less memory" : "");
    return kKnownError;
  }
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
    print_error("not enough memory", "a shorter context, a smaller batch or fewer layers need less memory");
    return kKnownError;
  }
  print_error(first_line(failure.what()), "");
  return kKnownError;
}

}  // namespace weft::cli
