// SPDX-License-Identifier: Apache-2.0
// Perplexity and bits a unit where the answer is known.
#include "weft/metrics/likelihood.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/metrics/sums.h"

namespace weft::metrics {
namespace {

TEST(Likelihood, OfAUniformGuessIsTheNumberOfChoices) {
  // exp and log round once each.
  EXPECT_NEAR(perplexity(10 * std::log(50.0), 10), 50.0, 1e-13);
  EXPECT_NEAR(bits_per_unit(12 * std::log(4.0), 12), 2.0, 1e-15);
  EXPECT_EQ(perplexity(0.0, 1), 1.0);
  EXPECT_EQ(perplexity(1e6, 1), std::numeric_limits<double>::infinity());
}

TEST(Likelihood, UnitsAreBytesCharactersAndBases) {
  const TextUnits units = count_units("acGTn é\xff-\n");
  EXPECT_EQ(units.bytes, 11);
  EXPECT_EQ(units.characters, 10);
  EXPECT_EQ(units.bases, 5);
  EXPECT_EQ(count_units("").characters, 0);
}

TEST(Likelihood, NeedsUnits) {
  test::expect_error(ErrorKind::kArgument, {"token", "found 0"}, [] { perplexity(1.0, 0); });
  test::expect_error(ErrorKind::kArgument, {"unit", "found 0"}, [] { bits_per_unit(1.0, 0); });
}

TEST(Sums, FollowTheCutsOfNumPy) {
  // 0.1 summed from left to right is 99.9999999999986 after 1,000 terms; NumPy's order gives what it prints.
  const std::vector<double> tenths(1000, 0.1);
  EXPECT_EQ(pairwise_sum(tenths), 100.00000000000001);
  EXPECT_EQ(pairwise_sum({}), 0.0);
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_EQ(weighted_mean(std::vector<double>{1, 4}, std::vector<double>{3, 1}), 1.75);
}

}  // namespace
}  // namespace weft::metrics
