// SPDX-License-Identifier: Apache-2.0
// Answers against the definitions of SQuAD's programs as Python runs them, bit for bit.
#include "weft/metrics/answers.h"

#include <limits>

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"

namespace weft::metrics {
namespace {

using formats::Json;
using Answers = std::vector<std::string>;

void expect_mean(const AnswerMean& found, const Json& expected) {
  EXPECT_EQ(found.percent.exact, expected.at(0).get<double>());
  EXPECT_EQ(found.percent.f1, expected.at(1).get<double>());
}

void expect_threshold(const BestThreshold& found, const Json& expected) {
  EXPECT_EQ(found.percent, expected.at(0).get<double>());
  EXPECT_EQ(found.threshold, expected.at(1).get<double>());
}

TEST(AnswersTest, ScoresEqualThoseOfTheOfficialPrograms) {
  int reports = 0;
  for (const Json& test : test::metric_cases("answers")) {
    if (!test.contains("version")) {
      continue;
    }
    AnswerScorer scorer(test.at("version") == 1 ? AnswerRules::kSquad1 : AnswerRules::kSquad2);
    for (const Json& question : test.at("questions")) {
      scorer.add(question.at("prediction").get<std::string>(), question.at("truth").get<Answers>(),
                 question.at("probability").get<double>());
    }
    const AnswerReport report = scorer.report(test.at("threshold").get<double>());
    expect_mean(report.all, test.at("all"));
    expect_mean(report.has_answer, test.at("has_answer"));
    expect_mean(report.no_answer, test.at("no_answer"));
    expect_threshold(report.best_exact, test.at("best_exact"));
    expect_threshold(report.best_f1, test.at("best_f1"));
    EXPECT_EQ(report.all.questions, report.has_answer.questions + report.no_answer.questions);
    ++reports;
  }
  EXPECT_EQ(reports, 4);
}

TEST(AnswersTest, AreComparedAsPythonNormalisesThem) {
  const Json pairs = test::metric_cases("answers").back().at("normalized");
  ASSERT_GT(pairs.size(), 30U);
  for (const Json& pair : pairs) {
    EXPECT_EQ(normalize_answer(pair[0].get<std::string>()), pair[1].get<std::string>()) << pair[0];
  }
}

// The official program knows probabilities; logits differ by any number, also by negative ones alone.
TEST(AnswersTest, BestThresholdGivesTheBestFigure) {
  for (const double shift : {-5.0, 0.0, 5.0}) {
    AnswerScorer scorer(AnswerRules::kSquad2);
    scorer.add("loom", Answers{}, shift - 0.2);  // better without an answer
    scorer.add("yarn", Answers{}, shift + 0.1);
    const AnswerReport report = scorer.report(0.0);
    EXPECT_EQ(report.best_f1.percent, 100.0) << shift;
    EXPECT_EQ(scorer.report(report.best_f1.threshold).all.percent.f1, 100.0) << shift;
  }
}

TEST(AnswersTest, EmptyAnswersScoreByTheirVersion) {
  const Answers the = {"the"};  // normalises to nothing
  EXPECT_EQ(score_answer("a", the, AnswerRules::kSquad1).exact, 1.0);
  EXPECT_EQ(score_answer("a", the, AnswerRules::kSquad1).f1, 0.0);
  EXPECT_EQ(score_answer("", {}, AnswerRules::kSquad2).f1, 1.0);
  EXPECT_EQ(score_answer("Paris", {}, AnswerRules::kSquad2).f1, 0.0);
}

TEST(AnswersTest, RefuseWhatCannotBeScored) {
  test::expect_error(ErrorKind::kArgument, {"true answer"}, [] { score_answer("x", {}, AnswerRules::kSquad1); });
  test::expect_error(ErrorKind::kArgument, {"\\xff", "UTF-8"}, [] { normalize_answer("\xff"); });
  test::expect_error(ErrorKind::kArgument, {"question"}, [] { AnswerScorer(AnswerRules::kSquad2).report(); });
  test::expect_error(ErrorKind::kArgument, {"finite"},
                     [] { AnswerScorer(AnswerRules::kSquad2).add("x", {}, std::numeric_limits<double>::quiet_NaN()); });
}

}  // namespace
}  // namespace weft::metrics
