// SPDX-License-Identifier: Apache-2.0
// EVALB's own figures on random and damaged trees, and what its report says of sentences that it leaves out.
#include "weft/metrics/parsing/evalb.h"

#include <gtest/gtest.h>

#include "metrics/fixture.h"

namespace weft::metrics {
namespace {

constexpr double kPrinted = 0.00501;  // two decimals

double part_of(std::int64_t part, std::int64_t whole, double scale = 100.0) {
  return scale * static_cast<double>(part) / static_cast<double>(whole);
}

void expect_sums(const EvalbSums& sums, const formats::Json& printed) {
  EXPECT_EQ(sums.sentences, printed.at("sentences").get<double>());
  EXPECT_EQ(sums.errors, printed.at("errors").get<double>());
  EXPECT_EQ(sums.skipped, printed.at("skipped").get<double>());
  EXPECT_EQ(sums.valid(), printed.at("valid").get<double>());
  EXPECT_NEAR(sums.recall(), printed.at("recall").get<double>(), kPrinted);
  EXPECT_NEAR(sums.precision(), printed.at("precision").get<double>(), kPrinted);
  EXPECT_NEAR(sums.f1(), printed.at("f1").get<double>(), kPrinted);
  EXPECT_NEAR(part_of(sums.complete, sums.valid()), printed.at("complete").get<double>(), kPrinted);
  EXPECT_NEAR(part_of(sums.crossing, sums.valid(), 1), printed.at("crossing").get<double>(), kPrinted);
  EXPECT_NEAR(part_of(sums.without_crossing, sums.valid()), printed.at("no_crossing").get<double>(), kPrinted);
  EXPECT_NEAR(part_of(sums.with_two_crossing, sums.valid()), printed.at("two_crossing").get<double>(), kPrinted);
  EXPECT_NEAR(part_of(sums.tags, sums.words), printed.at("tags").get<double>(), kPrinted);
}

TEST(Evalb, FiguresAreThoseOfTheProgram) {
  for (const formats::Json& one : test::metric_cases("evalb")) {
    EvalbScorer scorer;
    for (std::size_t i = 0; i < one.at("truth").size(); ++i) {
      scorer.add(one.at("predicted").at(i).get<std::string>(), one.at("truth").at(i).get<std::string>());
    }
    expect_sums(scorer.report().all, one.at("all"));
    expect_sums(scorer.report().up_to_longest, one.at("short"));
  }
}

TEST(Evalb, SentencesThatItLeavesOutCountAsMisses) {
  EvalbScorer scorer({.dropped = {"ROOT"}});
  const char* const truth = "(ROOT (S (NP (DT the) (NN loom)) (VP (VBZ weaves)) (. .)))";
  scorer.add(truth, truth);
  scorer.add("(ROOT (S (NP (DT the)) (VP (VBZ weaves)) (. .)))", truth);
  scorer.add("", truth);
  scorer.add("(ROOT (S", truth);
  scorer.add("weaves", truth);
  const EvalbSums& sums = scorer.report().all;
  EXPECT_EQ(sums.errors, 1);
  EXPECT_EQ(sums.skipped, 3);
  EXPECT_EQ(sums.gold, 3);
  EXPECT_EQ(sums.missed_gold, 12);
  EXPECT_EQ(sums.f1(), 100.0);
  EXPECT_EQ(sums.recall_of_all(), 20.0);
  EXPECT_NEAR(sums.f1_of_all(), 100.0 / 3, 1e-12);
}

// The program prints 66.67% of precision and 100% of recall here with DELETE_LABEL ADVP in its settings.
TEST(Evalb, ALabelThatIsLeftOutTakesItsEqualAlong) {
  for (const char* dropped : {"ADVP", "PRT"}) {
    EvalbScorer scorer({.dropped = {dropped}});
    scorer.add("(S (NP (NN a)) (VP (RP b)))", "(S (NP (NN a)) (PRT (RP b)))");
    const EvalbSums& sums = scorer.report().all;
    EXPECT_EQ(sums.recall(), 100.0);
    EXPECT_NEAR(sums.precision(), 200.0 / 3, 1e-12);
  }
  EvalbScorer words({.dropped = {"ADVP"}});
  words.add("(S (NP (NN a)) (VP (PRT b)))", "(S (NP (NN a)) (VP (PRT b)))");
  EXPECT_EQ(words.report().all.words, 2) << "a word's tag is left out by its own name alone";
}

}  // namespace
}  // namespace weft::metrics
