// SPDX-License-Identifier: Apache-2.0
// ROC-AUC against scikit-learn, whose trapezoids round: 1e-15 is allowed. Ours is a ratio of whole numbers.
#include "weft/metrics/roc_auc.h"

#include <limits>

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"

namespace weft::metrics {
namespace {

using formats::Json;

TEST(RocAuc, EqualsScikitLearn) {
  const Json cases = test::metric_cases("roc_auc");
  ASSERT_EQ(cases.size(), 5U);
  for (const Json& test : cases) {
    const auto area = roc_auc(test::values<std::uint8_t>(test.at("truth")), test::values<double>(test.at("scores")));
    ASSERT_TRUE(area);
    EXPECT_NEAR(*area, test.at("area").get<double>(), 1e-15);
  }
}

TEST(RocAuc, CountsPairsAndHalvesTies) {
  const std::vector<std::uint8_t> truth = {1, 0, 1, 0};
  EXPECT_EQ(roc_auc(truth, std::vector<double>{2, 1, 2, 1}), 1.0);
  EXPECT_EQ(roc_auc(truth, std::vector<double>{1, 2, 1, 2}), 0.0);
  EXPECT_EQ(roc_auc(truth, std::vector<double>{1, 1, 1, 1}), 0.5);
  EXPECT_EQ(roc_auc(truth, std::vector<double>{1, 1, 2, 0}), 0.875);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(roc_auc(truth, std::vector<double>{kInfinity, -kInfinity, 0, -kInfinity}), 1.0);
}

TEST(RocAuc, IsUndefinedWithOneClass) {
  EXPECT_FALSE(roc_auc(std::vector<std::uint8_t>{1, 1}, std::vector<double>{1, 2}));
  EXPECT_FALSE(roc_auc(std::vector<std::uint8_t>{0, 0}, std::vector<double>{1, 2}));
  EXPECT_FALSE(roc_auc({}, {}));
}

TEST(RocAuc, GroupsLeaveOutWhatIsUndefinedAndSaySo) {
  // Three labels: areas 1 and 0, and one that is never there.
  const std::vector<std::uint8_t> truth = {1, 0, 0, 0, 1, 0};
  const std::vector<double> scores = {2, 2, 5, 1, 1, 5};
  const std::vector<LabelGroup> groups = {{"all", {0, 1, 2}}, {"first", {0}}, {"never", {2}}, {"empty", {}}};
  const auto figures = grouped_roc_auc(truth, scores, 3, groups);
  ASSERT_EQ(figures.size(), 4U);
  EXPECT_EQ(figures[0].mean, 0.5);
  EXPECT_EQ(figures[0].labels, 2);
  EXPECT_EQ(figures[0].undefined, 1);
  EXPECT_EQ(figures[1].mean, 1.0);
  EXPECT_FALSE(figures[2].mean);
  EXPECT_EQ(figures[2].undefined, 1);
  EXPECT_EQ(figures[3].labels, 0);
}

TEST(RocAuc, RefusesWhatDoesNotFit) {
  const std::vector<std::uint8_t> truth = {1, 0};
  const std::vector<double> scores = {1, 2};
  const std::vector<LabelGroup> beyond = {{"promoters", {2}}};
  test::expect_error(ErrorKind::kArgument, {"expected 2", "found 1"}, [&] { roc_auc(truth, {scores.data(), 1}); });
  test::expect_error(ErrorKind::kArgument, {"NaN"},
                     [&] { roc_auc(truth, std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}); });
  test::expect_error(ErrorKind::kArgument, {"promoters", "label 2", "0 to 1"},
                     [&] { grouped_roc_auc(truth, scores, 2, beyond); });
  test::expect_error(ErrorKind::kArgument, {"rows of 3"}, [&] { grouped_roc_auc(truth, scores, 3, beyond); });
}

}  // namespace
}  // namespace weft::metrics
