// SPDX-License-Identifier: Apache-2.0
// Correlations against SciPy. Its own sums round: over up to 200 values by less than 2e-15; ours are the exact figures.
#include "weft/metrics/correlation.h"

#include <limits>

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"

namespace weft::metrics {
namespace {

using formats::Json;

void expect_figure(const std::optional<double>& found, const Json& expected) {
  ASSERT_EQ(found.has_value(), !expected.is_null());
  if (found) {
    EXPECT_NEAR(*found, expected.get<double>(), 2e-15);
  }
}

TEST(Correlation, EqualsScipy) {
  const Json cases = test::metric_cases("correlation");
  ASSERT_EQ(cases.size(), 7U);
  for (const Json& test : cases) {
    const auto first = test::values<double>(test.at("first"));
    const auto second = test::values<double>(test.at("second"));
    expect_figure(pearson(first, second), test.at("pearson"));
    expect_figure(spearman(first, second), test.at("spearman"));
  }
}

TEST(Correlation, IsExactWhereTheAnswerIsKnown) {
  const std::vector<double> rising = {1e8 + 1, 1e8 + 2, 1e8 + 4};
  const std::vector<double> falling = {-1, -2, -4};
  EXPECT_EQ(pearson(rising, falling), -1.0);
  EXPECT_EQ(spearman(rising, rising), 1.0);
  EXPECT_EQ(average_ranks(std::vector<double>{3, 1, 3, 2, 3}), (std::vector<double>{4, 1, 4, 2, 4}));
}

TEST(Correlation, IsUndefinedForOneValueAndForConstants) {
  EXPECT_FALSE(pearson(std::vector<double>{1}, std::vector<double>{2}));
  EXPECT_FALSE(pearson(std::vector<double>{}, std::vector<double>{}));
  EXPECT_FALSE(spearman(std::vector<double>{1, 2, 3}, std::vector<double>{0.1, 0.1, 0.1}));
}

TEST(Correlation, RefusesWhatDoesNotFit) {
  const std::vector<double> two = {1, 2};
  const std::vector<double> one = {1};
  const std::vector<double> broken = {1, std::numeric_limits<double>::quiet_NaN()};
  test::expect_error(ErrorKind::kArgument, {"2 and 1"}, [&] { pearson(two, one); });
  test::expect_error(ErrorKind::kArgument, {"finite"}, [&] { spearman(two, broken); });
}

}  // namespace
}  // namespace weft::metrics
