// SPDX-License-Identifier: Apache-2.0
// Rankings against trec_eval (pytrec_eval), and by equations that are worked here.
#include "weft/metrics/ranking.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"

namespace weft::metrics {
namespace {

using formats::Json;

std::vector<double> order(const std::vector<RankedText>& texts) { return ranked_relevance(texts); }

TEST(Ranking, PutsHighScoresFirstAndOfEqualOnesTheIdThatIsLast) {
  EXPECT_EQ(order({{0.5, 1, "a"}, {0.9, 2, "b"}, {0.5, 3, "c"}, {0.5, 4, "b"}}), (std::vector<double>{2, 3, 4, 1}));
  EXPECT_EQ(order({{-0.0, 1, "10"}, {0.0, 2, "9"}}), (std::vector<double>{2, 1}));  // by bytes, and -0 is 0
}

TEST(Ranking, EqualsTrecEval) {
  const Json cases = test::metric_cases("ranking");
  ASSERT_EQ(cases.size(), 8U);
  for (const Json& test : cases) {
    const auto ids = test::values<std::string>(test.at("ids"));
    const auto scores = test::values<double>(test.at("scores"));
    const auto relevance = test::values<double>(test.at("relevance"));
    std::vector<RankedText> texts;
    texts.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      texts.push_back({scores[i], relevance[i], ids[i]});
    }
    const std::vector<double> found = order(texts);
    const auto figure = [&](const char* name) { return test.at(name).get<double>(); };
    EXPECT_EQ(ndcg(found, 10), figure("ndcg"));
    EXPECT_EQ(reciprocal_rank(found, 10), figure("reciprocal"));
    EXPECT_EQ(average_precision(found), figure("precision"));
    EXPECT_EQ(recall(found, 1), figure("recall_1"));
    EXPECT_EQ(recall(found, 10), figure("recall_10"));
    EXPECT_EQ(recall(found, 100), figure("recall_100"));
  }
}

TEST(Ranking, FiguresByTheirEquations) {
  const std::vector<double> found = {0, 2, 0, 1, 0, 3};
  const double got = 2 / std::log2(3.0) + 1 / std::log2(5.0) + 3 / std::log2(7.0);
  const double best = 3 / std::log2(2.0) + 2 / std::log2(3.0) + 1 / std::log2(4.0);
  EXPECT_EQ(ndcg(found, 10), got / best);
  EXPECT_EQ(ndcg(found, 2), (2 / std::log2(3.0)) / (3 / std::log2(2.0) + 2 / std::log2(3.0)));
  EXPECT_EQ(reciprocal_rank(found, 10), 0.5);
  EXPECT_EQ(reciprocal_rank(found, 1), 0.0);
  EXPECT_EQ(recall(found, 4), 2.0 / 3.0);
  EXPECT_EQ(average_precision(found), (1.0 / 2.0 + 2.0 / 4.0 + 3.0 / 6.0) / 3.0);
}

TEST(Ranking, IsUndefinedWithoutARelevantText) {
  const std::vector<double> nothing = {0, 0};
  EXPECT_FALSE(ndcg(nothing, 10));
  EXPECT_FALSE(reciprocal_rank(nothing, 10));
  EXPECT_FALSE(recall(nothing, 10));
  EXPECT_FALSE(average_precision({}));
  RankingAverage average(Unanswered::kLeftOut);
  average.add(nothing);
  EXPECT_FALSE(average.figures());
  average.add(std::vector<double>{0, 1});
  const std::optional<RankingFigures> figures = average.figures();
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->queries, 1U);
  EXPECT_EQ(figures->unanswered, 1U);
  EXPECT_EQ(figures->mrr_at_10, 0.5);
  EXPECT_EQ(figures->recall_at_1, 0.0);
  RankingAverage zeros(Unanswered::kZero);
  zeros.add(nothing);
  zeros.add(std::vector<double>{0, 1});
  EXPECT_EQ(zeros.figures()->queries, 2U);
  EXPECT_EQ(zeros.figures()->unanswered, 1U);
  EXPECT_EQ(zeros.figures()->mrr_at_10, 0.25);
}

TEST(Ranking, RefusesWhatCannotBeRanked) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  test::expect_error(ErrorKind::kArgument, {"NaN"}, [&] { order({{nan, 1, "a"}}); });
  test::expect_error(ErrorKind::kArgument, {"relevance", "finite"}, [&] { order({{1, nan, "a"}}); });
  test::expect_error(ErrorKind::kArgument, {"depth"}, [] { ndcg(std::vector<double>{1}, 0); });
}

}  // namespace
}  // namespace weft::metrics
