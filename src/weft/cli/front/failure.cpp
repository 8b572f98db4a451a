// SPDX-License-Identifier: Apache-2.0
// Known errors print what they say. What LibTorch throws ends in a C++ backtrace, of which a user wants the first line.
#include "weft/cli/front/failure.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "weft/core/log.h"
#include "weft/core/system/gpu_memory.h"

namespace weft::cli {
namespace {

std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

constexpr const char* kLessMemory = "a shorter context, a smaller batch or fewer layers need less memory";

// LibTorch's CPU allocator has no exception of its own, only the text of one: "DefaultCPUAllocator: not enough memory:
// you tried to allocate 64 bytes.", in newer versions "can't allocate memory". Empty for other errors.
std::string missing_memory(const std::string& message) {
  if (std::string gpu = missing_gpu_memory(message); !gpu.empty()) {
    return gpu;
  }
  if (message.find("not enough memory") == std::string::npos &&
      message.find("can't allocate memory") == std::string::npos) {
    return {};
  }
  constexpr std::string_view kSize = "tried to allocate ";
  const std::size_t size = message.find(kSize);
  if (size == std::string::npos) {
    return "not enough memory";
  }
  const std::size_t digits = size + kSize.size();
  const std::size_t end = message.find_first_not_of("0123456789", digits);
  return concat("not enough memory: LibTorch asked the system for ", message.substr(digits, end - digits), " bytes");
}

void print_line(const char* begin, const std::string& message, const std::string& hint) {
  write_line(concat(begin, message, "\n", hint.empty() ? "" : concat("hint: ", hint, "\n")));
}

}  // namespace

void print_error(const std::string& message, const std::string& hint) { print_line("weft: error: ", message, hint); }

// From the most particular kind of failure to the least: UsageError is an Error too.
int report(const std::exception& failure) {
  if (const auto* usage = dynamic_cast<const UsageError*>(&failure)) {
    print_error(usage->what(), usage->hint());
    return kMisuse;
  }
  if (const auto* error = dynamic_cast<const Error*>(&failure)) {
    if (error->kind() == ErrorKind::kInterrupted) {
      print_line("weft: ", error->what(), error->hint());
      return kInterruptedExit;
    }
    print_error(error->what(), error->hint());
    return kKnownError;
  }
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
    print_error("not enough memory", kLessMemory);
    return kKnownError;
  }
  const std::string message = first_line(failure.what());
  const std::string memory = missing_memory(message);
  print_error(memory.empty() ? message : memory, memory.empty() ? "" : kLessMemory);
  return kKnownError;
}

}  // namespace weft::cli
