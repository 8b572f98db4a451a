// SPDX-License-Identifier: Apache-2.0
// ROC-AUC against scikit-learn, whose trapezoids round: 1e-15 is allowed. Ours is a ratio of whole numbers. Groups
// against counts of all pairs.
#include "weft/metrics/roc_auc.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"
#include "weft/core/random.h"

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

// Every pair of a positive and a negative example by itself.
std::optional<double> area_of_pairs(const std::vector<std::uint8_t>& truth, const std::vector<double>& scores,
                                    std::int64_t labels, std::int64_t label) {
  double ordered = 0;
  double pairs = 0;
  for (auto a = static_cast<std::size_t>(label); a < truth.size(); a += static_cast<std::size_t>(labels)) {
    for (auto b = static_cast<std::size_t>(label); b < truth.size(); b += static_cast<std::size_t>(labels)) {
      if (truth[a] == 1 && truth[b] == 0) {
        ordered += scores[a] > scores[b] ? 1.0 : (scores[a] == scores[b] ? 0.5 : 0.0);
        pairs += 1;
      }
    }
  }
  return pairs == 0 ? std::nullopt : std::optional(ordered / pairs);
}

TEST(RocAuc, MediansOfGroupsAreThoseOfAllPairs) {
  constexpr std::int64_t kLabels = 9;
  constexpr std::int64_t kRows = 40;
  std::vector<std::uint8_t> truth;
  std::vector<double> scores;
  for (std::uint64_t i = 0; i < kLabels * kRows; ++i) {
    const std::uint64_t label = i % kLabels;
    const bool positive = label == 7 || (label != 8 && random_below(random_bits(3, i), 3) == 0);
    truth.push_back(positive ? 1 : 0);
    // A grid, so that scores tie; the higher the label, the more it knows.
    const double known = positive ? static_cast<double>(label) : 0.0;
    scores.push_back(known + static_cast<double>(random_below(random_bits(4, i), 12)));
  }
  std::vector<double> areas;
  areas.reserve(7);
  for (std::int64_t label = 0; label < 7; ++label) {
    areas.push_back(area_of_pairs(truth, scores, kLabels, label).value());
  }
  EXPECT_FALSE(area_of_pairs(truth, scores, kLabels, 7));
  EXPECT_FALSE(area_of_pairs(truth, scores, kLabels, 8));
  const std::vector<LabelGroup> groups = {
      {"odd", {0, 1, 2, 3, 4, 5, 6, 7, 8}}, {"even", {3, 0, 1, 8, 2}}, {"none", {7, 8}}};
  const auto found = grouped_roc_auc(truth, scores, kLabels, groups);
  std::vector<double> four(areas.begin(), areas.begin() + 4);
  std::sort(four.begin(), four.end());
  EXPECT_DOUBLE_EQ(found[1].median.value(), (four[1] + four[2]) / 2);
  std::sort(areas.begin(), areas.end());
  EXPECT_DOUBLE_EQ(found[0].median.value(), areas[3]);
  EXPECT_NE(found[0].median, found[0].mean);
  EXPECT_EQ(found[0].undefined, 2);
  EXPECT_FALSE(found[2].median);
  EXPECT_FALSE(found[2].mean);
}

TEST(RocAuc, MeansAndMediansEqualScikitLearnAndNumPy) {
  for (const Json& test : test::metric_cases("roc_auc_groups")) {
    const auto labels = test.at("labels").get<std::int64_t>();
    std::vector<std::int64_t> all(static_cast<std::size_t>(labels));
    std::iota(all.begin(), all.end(), 0);
    const std::vector<LabelGroup> groups = {{"all", all}};
    const auto found = grouped_roc_auc(test::values<std::uint8_t>(test.at("truth")),
                                       test::values<double>(test.at("scores")), labels, groups);
    EXPECT_EQ(found[0].labels, test.at("counted").get<std::int64_t>());
    EXPECT_NEAR(found[0].mean.value(), test.at("mean").get<double>(), 1e-15);
    EXPECT_NEAR(found[0].median.value(), test.at("median").get<double>(), 1e-15);
  }
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
