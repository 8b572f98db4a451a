// SPDX-License-Identifier: Apache-2.0
// Counts on two atomics; an allocation is a few hundred KB to many MB, next to which they cost nothing.
#include "weft/kernels/workspace.h"

#include <atomic>
#include <cstdlib>

namespace weft::kernels {
namespace {

std::atomic<std::int64_t> held_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

}  // namespace

void* take_workspace(std::int64_t bytes) noexcept {
  constexpr std::int64_t kLine = 64;
  void* memory = std::aligned_alloc(kLine, static_cast<std::size_t>((bytes + kLine) / kLine * kLine));
  if (memory != nullptr) {
    const std::int64_t held = held_bytes.fetch_add(bytes) + bytes;
    std::int64_t peak = peak_bytes.load();
    while (held > peak && !peak_bytes.compare_exchange_weak(peak, held)) {
    }
  }
  return memory;
}

void give_workspace_back(void* memory, std::int64_t bytes) noexcept {
  if (memory != nullptr) {
    held_bytes.fetch_sub(bytes);
    std::free(memory);
  }
}

std::int64_t workspace_peak() noexcept { return peak_bytes.load(); }

void reset_workspace_peak() noexcept { peak_bytes.store(held_bytes.load()); }

}  // namespace weft::kernels
