// SPDX-License-Identifier: Apache-2.0
// Entities and their scores against seqeval, bit for bit.
#include "weft/metrics/entities.h"

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"

namespace weft::metrics {
namespace {

using formats::Json;
using Tags = std::vector<std::string>;

TEST(Entities, EqualsSeqeval) {
  const Json cases = test::metric_cases("entities");
  ASSERT_EQ(cases.size(), 7U);
  for (const Json& test : cases) {
    EntityScorer scorer;
    for (std::size_t i = 0; i < test.at("truth").size(); ++i) {
      scorer.add(test.at("truth")[i].get<Tags>(), test.at("predicted")[i].get<Tags>());
    }
    const EntityReport report = scorer.report();
    test::expect_scores(report.micro, test.at("micro"));
    test::expect_scores(report.macro, test.at("macro"));
    test::expect_scores(report.weighted, test.at("weighted"));
    EXPECT_EQ(report.accuracy, test.at("accuracy").get<double>());
  }
}

TEST(Entities, OddTagsAreReadAsSeqevalReadsThem) {
  const Json test = test::metric_cases("entities").back();
  std::vector<Entity> expected;
  for (const Json& chunk : test.at("entities")) {
    // seqeval's last word belongs to the entity.
    expected.push_back({chunk[0].get<std::string>(), chunk[1].get<std::int64_t>(), chunk[2].get<std::int64_t>() + 1});
  }
  EXPECT_EQ(find_entities(test.at("truth")[0].get<Tags>()), expected);
}

TEST(Entities, BeginAndEndWhereTheTagsSay) {
  const Tags tags = {"B-loc", "I-loc", "O", "I-loc", "B-loc", "B-person", "I-loc"};
  const std::vector<Entity> expected = {{"loc", 0, 2}, {"loc", 3, 4}, {"loc", 4, 5}, {"person", 5, 6}, {"loc", 6, 7}};
  EXPECT_EQ(find_entities(tags), expected);
  EXPECT_TRUE(find_entities({}).empty());
  EXPECT_EQ(find_entities(Tags{"B-creative-work"}).front().type, "creative-work");
}

TEST(Entities, AreReportedByType) {
  EntityScorer scorer;
  scorer.add(Tags{"B-a", "O", "B-b"}, Tags{"B-a", "B-b", "O"});
  const EntityReport report = scorer.report();
  ASSERT_EQ(report.types.size(), 2U);
  EXPECT_EQ(report.types[0].type, "a");
  EXPECT_EQ(report.types[0].scores.f1, 1.0);
  EXPECT_EQ(report.types[1].scores.f1, 0.0);
  EXPECT_EQ(report.types[1].support, 1);
  EXPECT_EQ(report.support, 2);
  EXPECT_EQ(EntityScorer().report().micro.f1, 0.0);
}

TEST(Entities, RefuseWhatDoesNotFit) {
  EntityScorer scorer;
  test::expect_error(ErrorKind::kArgument, {"expected 1", "found 2"}, [&] { scorer.add(Tags{"O"}, Tags{"O", "O"}); });
  test::expect_error(ErrorKind::kArgument, {"empty"}, [] { find_entities(Tags{""}); });
}

}  // namespace
}  // namespace weft::metrics
