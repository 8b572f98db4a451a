// SPDX-License-Identifier: Apache-2.0
// A ParallelFor on plain std::thread, so that thread sanitizers see the kernels of the rooms without Torch at work on
// several threads, whatever the machine has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "weft/core/parallel.h"

namespace weft::test {

/// One thread a range, at most `kThreads` ranges, none shorter than the grain but the last.
template <int kThreads>
inline constexpr ParallelFor kThreadParallel{
    [](std::int64_t count, std::int64_t grain, ParallelFor::Body body, void* context) {
      const std::int64_t even = (count + kThreads - 1) / kThreads;
      const std::int64_t step = std::max<std::int64_t>({1, grain, even});
      std::vector<std::thread> threads;
      for (std::int64_t begin = 0; begin < count; begin += step) {
        threads.emplace_back(body, context, begin, std::min(count, begin + step));
      }
      for (std::thread& thread : threads) {
        thread.join();
      }
    },
    [] { return std::int64_t{kThreads}; }};

}  // namespace weft::test
