// SPDX-License-Identifier: Apache-2.0
// Class metrics against scikit-learn, bit for bit, and what cannot be scored.
#include "weft/metrics/classification.h"

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"

namespace weft::metrics {
namespace {

using formats::Json;

void expect_averages(const Json& test, const std::vector<ClassCounts>& counts) {
  test::expect_scores(average_scores(counts, Averaging::kMicro), test.at("micro"));
  test::expect_scores(average_scores(counts, Averaging::kMacro), test.at("macro"));
  test::expect_scores(average_scores(counts, Averaging::kWeighted), test.at("weighted"));
}

TEST(Classification, EqualsScikitLearn) {
  int classes = 0;
  int labels = 0;
  for (const Json& test : test::metric_cases("classification")) {
    if (test.contains("labels")) {
      const auto truth = test::values<std::uint8_t>(test.at("truth"));
      const auto predicted = test::values<std::uint8_t>(test.at("predicted"));
      expect_averages(test, count_labels(truth, predicted, test.at("labels").get<std::int64_t>()));
      ++labels;
      continue;
    }
    const auto truth = test::values<std::int64_t>(test.at("truth"));
    const auto predicted = test::values<std::int64_t>(test.at("predicted"));
    expect_averages(test, count_classes(truth, predicted));
    EXPECT_EQ(accuracy(truth, predicted), test.at("accuracy").get<double>());
    EXPECT_EQ(matthews_correlation(truth, predicted), test.at("matthews").get<double>());
    ++classes;
  }
  EXPECT_EQ(classes, 8);
  EXPECT_EQ(labels, 3);
}

TEST(Classification, CountsEveryClassThatIsInEither) {
  const std::vector<std::int64_t> truth = {5, 5, -1};
  const std::vector<std::int64_t> predicted = {5, 9, 9};
  const auto counts = count_classes(truth, predicted);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].label, -1);
  EXPECT_EQ(counts[1].label, 5);
  EXPECT_EQ(counts[1].counts.correct, 1);
  EXPECT_EQ(counts[2].counts.predicted, 2);
  EXPECT_EQ(counts[2].counts.actual, 0);
  EXPECT_EQ(class_scores(counts[0].counts).f1, 0.0);
}

TEST(Classification, WeightsOfNothingAreNoWeights) {
  const std::vector<std::uint8_t> none(6, 0);
  EXPECT_EQ(average_scores(count_labels(none, none, 3), Averaging::kWeighted).f1, 0.0);
}

TEST(Classification, RefusesWhatDoesNotFit) {
  const std::vector<std::int64_t> two = {1, 2};
  const std::vector<std::int64_t> one = {1};
  const std::vector<std::uint8_t> flags = {1, 0, 1};
  test::expect_error(ErrorKind::kArgument, {"expected 2", "found 1"}, [&] { accuracy(two, one); });
  test::expect_error(ErrorKind::kArgument, {"at least one"}, [] { count_classes({}, {}); });
  test::expect_error(ErrorKind::kArgument, {"rows of 2 labels"}, [&] { count_labels(flags, flags, 2); });
  test::expect_error(ErrorKind::kArgument, {"class"}, [] { average_scores({}, Averaging::kMacro); });
}

}  // namespace
}  // namespace weft::metrics
