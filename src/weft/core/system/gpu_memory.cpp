// SPDX-License-Identifier: Apache-2.0
// The words around the sizes are those of PyTorch 2.11 to 2.15; of others the line says less.
#include "weft/core/system/gpu_memory.h"

#include <algorithm>

#include "weft/core/error.h"

namespace weft {
namespace {

// The text between `before` and `behind`, or nothing.
std::string between(std::string_view text, std::string_view before, std::string_view behind) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(begin + before.size());
  const std::size_t end = rest.find(behind);
  return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
}

// LibTorch's allocator, CUDA where something else allocates, and cuBLAS for its own workspace.
constexpr std::string_view kWordsOfMissingMemory[] = {"CUDA out of memory", "CUDA error: out of memory",
                                                      "CUBLAS_STATUS_ALLOC_FAILED"};

}  // namespace

std::string missing_gpu_memory(std::string_view message) {
  if (std::ranges::none_of(kWordsOfMissingMemory, [message](std::string_view words) {
        return message.find(words) != std::string_view::npos;
      })) {
    return {};
  }
  const std::string asked = between(message, "Tried to allocate ", ". ");
  const std::string gpu = between(message, "GPU ", " has");
  const std::string total = between(message, "total capacity of ", " of which");
  const std::string free = between(message, "of which ", " is free");
  if (asked.empty() || gpu.empty() || total.empty() || free.empty()) {
    return "not enough memory on the GPU";
  }
  return concat("not enough memory on cuda:", gpu, ": LibTorch asked for ", asked, ", and ", free, " of ", total,
                " are free");
}

}  // namespace weft
