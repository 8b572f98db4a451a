// SPDX-License-Identifier: Apache-2.0
// The thread interface of the Torch-free rooms: a kernel divides its work into independent items and lets the caller
// decide who runs them. No STL container here: kernel files compiled for one instruction set include this header.
#pragma once

#include <cstdint>
#include <type_traits>

namespace weft {

/// Runs `body(context, begin, end)` over disjoint ranges that cover [0, count), none shorter than `grain` but the last.
/// The ranges may run on several threads at once; `run` returns when all are done. `body` does not throw.
struct ParallelFor {
  using Body = void (*)(void* context, std::int64_t begin, std::int64_t end) noexcept;
  void (*run)(std::int64_t count, std::int64_t grain, Body body, void* context);
  /// How many ranges run at once: what work should be divided by.
  std::int64_t (*threads)();
};

/// Everything on the calling thread, in one range.
inline constexpr ParallelFor kSerial{[](std::int64_t count, std::int64_t, ParallelFor::Body body, void* context) {
                                       if (count > 0) {
                                         body(context, 0, count);
                                       }
                                     },
                                     [] { return std::int64_t{1}; }};

/// Calls `work(begin, end)` over ranges of [0, count) through `parallel`.
template <typename Work>
void parallel_for(const ParallelFor& parallel, std::int64_t count, std::int64_t grain, Work&& work) {
  parallel.run(
      count, grain,
      [](void* context, std::int64_t begin, std::int64_t end) noexcept {
        (*static_cast<std::remove_reference_t<Work>*>(context))(begin, end);
      },
      &work);
}

}  // namespace weft
