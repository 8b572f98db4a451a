// SPDX-License-Identifier: Apache-2.0
// Sentences chosen without a model, against figures worked out by hand. A line is a sentence here.
#include "weft/tasks/extractive/extract.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/tasks/extractive/rankings.h"

namespace weft::tasks {
namespace {

using Order = std::vector<std::size_t>;

TEST(Extractive, SumBasicTakesTheLikeliestWordFirst) {
  // a has 3/7, the others 1/7: the sentence of a alone; then (3/7)^2 is still the most, and so on.
  EXPECT_EQ(sum_basic_order(sentence_terms("a b\na c\nd e\na"), 9), (Order{3, 0, 1, 2}));
  EXPECT_EQ(sum_basic_order(sentence_terms("a b\na c\nd e\na"), 2), (Order{3, 0}));
}

TEST(Extractive, LexRankWalksAmongSentencesThatAreAlike) {
  // The outer sentences share one rare word each with the middle one: cosine 0.245.
  const std::vector<double> scores = lex_rank_scores(sentence_terms("x y\ny z\nz w"));
  const double outer = (0.05 + 0.85 / 3) / (1 - 0.425 + 1.7 / 3);
  ASSERT_EQ(scores.size(), 3U);
  EXPECT_NEAR(scores[0], outer, 1e-11);
  EXPECT_NEAR(scores[1], 1 - 2 * outer, 1e-11);
  EXPECT_EQ(lex_rank_scores(sentence_terms("one")), (std::vector<double>{1.0}));
  const std::vector<double> weighted = lex_rank_scores(sentence_terms("x y\ny z\nz w"), {.continuous = true});
  EXPECT_GT(weighted[1], weighted[0]);
  EXPECT_LT(weighted[1], scores[1]);
}

TEST(Extractive, LsaKeepsTopicsOfHalfTheLargestValue) {
  const std::vector<double> both = lsa_scores(sentence_terms("x x x\ny y"));
  EXPECT_NEAR(both[0], 3.0, 1e-12);
  EXPECT_NEAR(both[1], 2.0, 1e-12);
  const std::vector<double> one = lsa_scores(sentence_terms("x x x\ny"));
  EXPECT_NEAR(one[0], 3.0, 1e-12);
  EXPECT_NEAR(one[1], 0.0, 1e-12);
}

TEST(Extractive, LimitsEndASummary) {
  const Document document{"One two.\nThree four five.\nSix.", "three four six", "the text"};
  const auto summary = [&](const ExtractConfig& config) { return extract({&document, 1}, config).at(0).result.at(0); };
  EXPECT_EQ(summary({.method = "lead", .sentences = 2}).at("summary_text"), "One two. Three four five.");
  EXPECT_EQ(summary({.method = "lead", .sentences = 3, .words = 4}).at("summary_text"), "One two.");
  EXPECT_EQ(summary({.method = "lead", .sentences = 3, .words = 1}).at("sentences"), Order{0});
  EXPECT_EQ(summary({.method = "oracle", .sentences = 3}).at("sentences"), (Order{1, 2}));
  EXPECT_EQ(summary({.method = "random", .seed = 4}), summary({.method = "random", .seed = 4}));
}

TEST(Extractive, OraclesReadAnyScript) {
  const Document document{"Ткач ткёт нить. Нить красная. Станок стоит.", "Нить красная.", "the text"};
  EXPECT_EQ(extract({&document, 1}, {.method = "oracle", .sentences = 3}).at(0).result.at(0).at("sentences"), Order{1});
  const Document wordless{"One two.", "...", "text 9"};
  test::expect_error(ErrorKind::kArgument, {"text 9", "words of the reference"},
                     [&] { extract({&wordless, 1}, {.method = "oracle"}); });
}

TEST(Extractive, OfEqualSentencesTheFirstIsTaken) {
  const double largest = 2.98292228;
  EXPECT_EQ(order_by_score({1.0, largest, 0.5, largest * (1 + 1e-15), 1.0}), (Order{1, 3, 0, 4, 2}));
  EXPECT_EQ(order_by_score({0.0, 0.0}), (Order{0, 1}));
  EXPECT_TRUE(order_by_score({}).empty());
}

TEST(Extractive, ReadsBytesThatAreNoCharacterAsModelsDo) {
  const Document bytes{"One caf\xe9.", {}, "'a.txt' line 3"};
  const TaskResult found = extract({&bytes, 1}, {.method = "lead"}).front();
  EXPECT_EQ(found.result[0]["summary_text"], "One caf\uFFFD.");
}

TEST(Extractive, RefusesWhatHasNoSentence) {
  const Document wrapped{"The loom weaves red \r\n cloth. It sleeps\nat night.", {}, "text 6"};
  const auto first = [&](const text::SentenceRules& rules) {
    return extract({&wrapped, 1}, {.method = "lead", .sentences = 1, .rules = rules}).front().result[0]["summary_text"];
  };
  EXPECT_EQ(first({.lines = true}), "The loom weaves red");
  EXPECT_EQ(first({.lines = false}), "The loom weaves red cloth.");
  const Document nothing{" ...\n", {}, "text 7"};
  test::expect_error(ErrorKind::kArgument, {"text 7", "words"}, [&] { extract({&nothing, 1}, {.method = "lead"}); });
  const Document alone{"One two.", {}, "text 8"};
  test::expect_error(ErrorKind::kArgument, {"text 8", "reference"},
                     [&] { extract({&alone, 1}, {.method = "oracle"}); });
}

}  // namespace
}  // namespace weft::tasks
