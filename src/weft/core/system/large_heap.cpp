// SPDX-License-Identifier: Apache-2.0
// Two blocks are taken from the end of the heap and given back untouched. mallopt(3) could make the room, but would end
// malloc's adaption to the program.
#include "weft/core/system/large_heap.h"

#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>

#include "weft/core/environment.h"

namespace weft {
namespace {

constexpr std::size_t kBlock = std::size_t{30} << 20;  // malloc maps blocks of more than 32 MB for good
constexpr std::size_t kSystemPage = std::size_t{2} << 20;

/// Asks for large pages between the ends of a block; 0 where the block is not there.
std::size_t ask_for_large_pages(void* block) {
  if (block == nullptr) {
    return 0;
  }
  char* const begin = static_cast<char*>(block);
  const std::size_t before = (kSystemPage - reinterpret_cast<std::uintptr_t>(begin) % kSystemPage) % kSystemPage;
  const std::size_t bytes = (kBlock - before) / kSystemPage * kSystemPage;
  return ::madvise(begin + before, bytes, MADV_HUGEPAGE) == 0 ? bytes : 0;
}

}  // namespace

std::size_t prepare_large_heap() noexcept {
  if (environment("THP_MEM_ALLOC_ENABLE") != "1") {
    return 0;
  }
  // A mapped block that is freed raises the threshold for mapping to its size, and what is kept at the end to twice it.
  // Written to, so that no compiler leaves the pair out.
  void* volatile mapped = std::malloc(kBlock + kSystemPage / 2);  // NOLINT(cppcoreguidelines-no-malloc)
  std::free(mapped);                                              // NOLINT(cppcoreguidelines-no-malloc)
  void* const below = std::malloc(kBlock);                        // NOLINT(cppcoreguidelines-no-malloc)
  void* const above = std::malloc(kBlock);                        // NOLINT(cppcoreguidelines-no-malloc)
  const std::size_t bytes = ask_for_large_pages(below) + ask_for_large_pages(above);
  std::free(above);  // NOLINT(cppcoreguidelines-no-malloc)
  std::free(below);  // NOLINT(cppcoreguidelines-no-malloc)
  return bytes;
}

}  // namespace weft
