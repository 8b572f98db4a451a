// SPDX-License-Identifier: Apache-2.0
// Range arithmetic against the definition, position by position.
#include "weft/pattern/interval.h"

#include <gtest/gtest.h>

namespace weft::pattern {
namespace {

/// What cover functions should say about `range` when `contains` decides each position.
template <typename Contains>
int brute_cover(const Range& range, const Contains& contains) {
  std::int64_t inside = 0;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    inside += contains(i) ? 1 : 0;
  }
  return inside == 0 ? 0 : (inside == range.size() ? 1 : kMixed);
}

TEST(Interval, CoverAndBitsOfAnInterval) {
  for (std::int64_t low = -4; low <= 4; ++low) {
    for (std::int64_t high = low; high <= 6; ++high) {
      const auto contains = [&](std::int64_t i) { return i >= low && i <= high; };
      for (std::int64_t first = -7; first <= 8; ++first) {
        for (std::int64_t size = 1; size <= 12; ++size) {
          ASSERT_EQ(interval_cover({first, first + size}, low, high), brute_cover({first, first + size}, contains));
          const std::uint64_t bits = interval_bits(low, high, first, static_cast<int>(size));
          for (std::int64_t i = 0; i < 64; ++i) {
            ASSERT_EQ((bits >> i) & 1, i < size && contains(first + i) ? 1U : 0U);
          }
        }
      }
    }
  }
}

TEST(Interval, CoverAndBitsOfAPeriodicSet) {
  for (std::int64_t period = 1; period <= 7; ++period) {
    for (std::int64_t length = 1; length <= period; ++length) {
      for (std::int64_t start = -3; start <= 7; ++start) {
        const auto contains = [&](std::int64_t i) { return floor_modulo(i - start, period) < length; };
        for (std::int64_t first = -9; first <= 9; ++first) {
          for (std::int64_t size = 1; size <= 20; ++size) {
            ASSERT_EQ(periodic_cover({first, first + size}, period, start, length),
                      brute_cover({first, first + size}, contains));
            std::int64_t next = first;
            while (next < first + size && !contains(next)) {
              ++next;
            }
            ASSERT_EQ(periodic_first({first, first + size}, period, start, length), next);
          }
          const std::uint64_t bits = periodic_bits(period, start, length, first, 64);
          for (std::int64_t i = 0; i < 64; ++i) {
            ASSERT_EQ((bits >> i) & 1, contains(first + i) ? 1U : 0U);
          }
        }
      }
    }
  }
}

TEST(Interval, NothingOverflowsAtTheLargestSizes) {
  constexpr std::int64_t kPosition = std::int64_t{1} << 41;
  EXPECT_EQ(periodic_bits(kMaximumSize, 0, 1, kPosition, 64), 0U);
  EXPECT_EQ(periodic_bits(kMaximumSize, kMaximumSize, 1, 0, 64), 1U);
  EXPECT_EQ(periodic_cover({kPosition, kPosition + 5}, kMaximumSize, kMaximumSize - 1, 1), 0);
  EXPECT_EQ(periodic_first({kPosition, kPosition + 5}, kMaximumSize, kMaximumSize, 1), kPosition + 5);
  EXPECT_EQ(interval_bits(-kMaximumSize, kMaximumSize, kPosition, 64), ~std::uint64_t{0});
  EXPECT_EQ(saturating_product(kMaximumSize, kMaximumSize), kMaximumSize);
  EXPECT_EQ(saturating_product(3, 5), 15);
  EXPECT_EQ(ceil_divide(kPosition, kMaximumSize), 1);
}

}  // namespace
}  // namespace weft::pattern
