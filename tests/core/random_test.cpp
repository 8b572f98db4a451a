// SPDX-License-Identifier: Apache-2.0
// Philox against the known answers of Random123 (kat_vectors, philox4x32 10), and the helpers on top.
#include "weft/core/random.h"

#include <set>

#include <gtest/gtest.h>

namespace weft {
namespace {

void expect_draw(const Philox4& draw, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  EXPECT_EQ(draw.value[0], a);
  EXPECT_EQ(draw.value[1], b);
  EXPECT_EQ(draw.value[2], c);
  EXPECT_EQ(draw.value[3], d);
}

TEST(Random, PhiloxKnownAnswers) {
  expect_draw(philox(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  const std::uint64_t ones = ~std::uint64_t{0};
  expect_draw(philox(ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  // Digits of pi: counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0, least significant word first.
  expect_draw(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e), 0xd16cfe09, 0x94fdcceb, 0x5001e420,
              0x24126ea1);
}

TEST(Random, BitsAreTheFirstTwoWords) { EXPECT_EQ(random_bits(0, 0), 0xe169c58d6627e8d5); }

TEST(Random, IsAConstantExpression) { static_assert(philox(0, 0, 0).value[0] == 0x6627e8d5); }

TEST(Random, BelowStaysBelowAndReachesEveryValue) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t value = random_below(random_bits(7, i), 10);
    ASSERT_LT(value, 10U);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(random_below(~std::uint64_t{0}, 10), 9U);
  EXPECT_EQ(random_below(~std::uint64_t{0}, ~std::uint64_t{0}), ~std::uint64_t{0} - 1);
}

TEST(Random, UnitIsBelowOneAndEvenlySpread) {
  EXPECT_EQ(random_unit(0), 0.0F);
  EXPECT_LT(random_unit(~std::uint32_t{0}), 1.0F);
  double sum = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    sum += random_unit(philox(1, static_cast<std::uint64_t>(i), 0).value[2]);
  }
  // The mean of 4000 uniform draws has a standard deviation of 0.0046; the draws are fixed, so this cannot flicker.
  EXPECT_NEAR(sum / kDraws, 0.5, 0.02);
}

}  // namespace
}  // namespace weft
