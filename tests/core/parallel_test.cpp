// SPDX-License-Identifier: Apache-2.0
// The thread interface: the serial runner covers the range once, and any runner gets the caller's work.
#include "weft/core/parallel.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Parallel, SerialCoversTheRangeOnce) {
  std::vector<int> visits(17, 0);
  parallel_for(kSerial, 17, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ++visits[static_cast<std::size_t>(i)];
    }
  });
  EXPECT_EQ(visits, std::vector<int>(17, 1));
}

TEST(Parallel, NothingToDoCallsNobody) {
  bool called = false;
  parallel_for(kSerial, 0, 1, [&](std::int64_t, std::int64_t) { called = true; });
  EXPECT_FALSE(called);
}

TEST(Parallel, AnotherRunnerMayCutTheRange) {
  const ParallelFor in_pairs{[](std::int64_t count, std::int64_t, ParallelFor::Body body, void* context) {
    for (std::int64_t i = 0; i < count; i += 2) {
      body(context, i, i + 2 < count ? i + 2 : count);
    }
  }};
  std::int64_t sum = 0;
  parallel_for(in_pairs, 5, 1, [&](std::int64_t begin, std::int64_t end) { sum += 100 * begin + end; });
  EXPECT_EQ(sum, (0 + 2) + (200 + 4) + (400 + 5));
}

}  // namespace
}  // namespace weft
