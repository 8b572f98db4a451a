// SPDX-License-Identifier: Apache-2.0
// Processors by hand: what each leaves of a few scores. searches_test.cpp compares all of them with transformers.
#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "weft/generation/processors/cuts.h"
#include "weft/generation/processors/ends.h"
#include "weft/generation/processors/repetition.h"
#include "weft/generation/processors/words.h"
#include "weft/generation/search/search.h"

namespace weft::generation {
namespace {

using Scores = std::vector<float>;

Scores logs(const std::vector<double>& probabilities) {
  Scores scores;
  for (const double probability : probabilities) {
    scores.push_back(static_cast<float>(std::log(probability)));
  }
  return scores;
}

Scores after(const Processor& processor, Scores scores, const Ids& tokens = {0}, const Ids& source = {}) {
  processor({scores, tokens, source, 0});
  return scores;
}

/// Ids that may still come.
Ids left(const Processor& processor, const Scores& scores, const Ids& tokens = {0}, const Ids& source = {}) {
  Ids ids;
  std::int64_t id = 0;
  for (const float score : after(processor, scores, tokens, source)) {
    if (score != kImpossible) {
      ids.push_back(id);
    }
    ++id;
  }
  return ids;
}

TEST(Cuts, TopKKeepsTheLikeliestAndThoseEqualToTheLast) {
  const Scores scores = logs({0.1, 0.4, 0.2, 0.3});
  EXPECT_EQ(left(keep_top_k(2), scores), (Ids{1, 3}));
  EXPECT_EQ(left(keep_top_k(100), scores), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(left(keep_top_k(1), {1.0F, 2.0F, 2.0F}), (Ids{1, 2}));
}

TEST(Cuts, TopPKeepsTheShortestPrefixThatHoldsIt) {
  const Scores scores = logs({0.125, 0.5, 0.125, 0.25});
  const auto kept = [&](double mass) { return left(keep_top_p(mass, 1), scores); };
  EXPECT_EQ(kept(0.0), (Ids{1}));
  EXPECT_EQ(kept(0.499), (Ids{1}));
  EXPECT_EQ(kept(0.501), (Ids{1, 3}));
  EXPECT_EQ(kept(0.749), (Ids{1, 3}));
  EXPECT_EQ(kept(0.751), (Ids{0, 1, 3}));  // of equal ones the lower id
  EXPECT_EQ(left(keep_top_p(0.1, 3), scores), (Ids{0, 1, 3}));
}

TEST(Cuts, ByProbabilityAndEntropy) {
  const Scores scores = logs({0.05, 0.6, 0.25, 0.1});
  EXPECT_EQ(left(keep_min_p(0.3, 1), scores), (Ids{1, 2}));
  EXPECT_EQ(left(keep_epsilon(0.2, 1), scores), (Ids{1, 2}));
  EXPECT_EQ(left(keep_epsilon(0.9, 2), scores), (Ids{1, 2}));
  // entropy 1.03: -log p = 3.0, 0.51, 1.39, 2.3 lie 1.96, 0.52, 0.35, 1.27 from it
  EXPECT_EQ(left(keep_typical(0.2, 1), scores), (Ids{2}));
  EXPECT_EQ(left(keep_typical(0.5, 1), scores), (Ids{1, 2}));
  // min(0.25, 0.5 exp(-1.03) = 0.178)
  EXPECT_EQ(left(keep_eta(0.25, 1), scores), (Ids{1, 2}));
  // -p log p: 0.306, 0.347, 0.230, 0.150 of 1.033
  EXPECT_EQ(left(keep_top_h(0.2), scores), (Ids{1}));
  EXPECT_EQ(left(keep_top_h(0.64), scores), (Ids{1, 2}));
}

TEST(Cuts, ATinyTemperatureStaysFinite) {
  const Scores cold = after(divide_by(1e-30), {1e30F, -1e30F, 0.0F});
  EXPECT_EQ(cold[0], 0.0F);
  EXPECT_EQ(cold[1], kImpossible);
  EXPECT_EQ(after(divide_by(0.5), {1.0F, -2.0F}), (Scores{2.0F, -4.0F}));
}

TEST(Repetition, PenaltiesPushScoresDownOnce) {
  EXPECT_EQ(after(punish_repetition(2.0), {3.0F, -3.0F, 1.0F}, {0, 0, 1}), (Scores{1.5F, -6.0F, 1.0F}));
  EXPECT_EQ(after(repeat_source(2.0), {3.0F, -3.0F, 1.0F}, {0}, {0, 1, 1}), (Scores{6.0F, -1.5F, 1.0F}));
  EXPECT_EQ(after(punish_repetition(2.0), {3.0F}, {7}), (Scores{3.0F}));  // of another vocabulary
}

TEST(Repetition, NoNGramComesTwice) {
  const Scores scores(4, 0.0F);
  EXPECT_EQ(left(ban_repeated_ngrams(1), scores, {2, 3}), (Ids{0, 1}));
  EXPECT_EQ(left(ban_repeated_ngrams(2), scores, {1, 2, 1, 3, 1}), (Ids{0, 1}));
  EXPECT_EQ(left(ban_repeated_ngrams(3), scores, {1, 2, 1, 2}), (Ids{0, 2, 3}));
  EXPECT_EQ(left(ban_repeated_ngrams(9), scores, {1, 2}), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(left(ban_source_ngrams(2), scores, {1}, {1, 2, 1, 3}), (Ids{0, 1}));
}

TEST(Words, BiasesCountWhereTheirBeginningIsThere) {
  const Processor bias = bias_words({{{1}, 2.0}, {{0, 1}, 0.5}, {{3, 0, 2}, kImpossible}});
  EXPECT_EQ(after(bias, Scores(4, 0.0F), {0}), (Scores{0.0F, 2.5F, 0.0F, 0.0F}));
  EXPECT_EQ(left(bias, Scores(4, 0.0F), {3, 0}), (Ids{0, 1, 3}));
}

TEST(Words, OnlyWhatIsAllowedMayCome) {
  const Processor allowed = allow_only(
      [](std::int64_t, std::span<const std::int64_t> tokens) { return tokens.size() == 1 ? Ids{1, 3} : Ids{}; });
  EXPECT_EQ(left(allowed, Scores(4, -1.0F)), (Ids{1, 3}));
  EXPECT_EQ(after(allowed, {0.0F, kImpossible, 0.0F, kImpossible})[3], 0.0F);
  test::expect_error(ErrorKind::kArgument, {"text 0", "no token is allowed"},
                     [&] { after(allowed, Scores(4, 0.0F), {0, 1}); });
}

TEST(Ends, ForcedBannedAndRaised) {
  EXPECT_EQ(left(ban_below(3, {2}), Scores(4, 0.0F), {0, 1}), (Ids{0, 1, 3}));
  EXPECT_EQ(left(ban_below(2, {2}), Scores(4, 0.0F), {0, 1}), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(after(force_at(1, {2}), {5.0F, 5.0F, 5.0F}), (Scores{kImpossible, kImpossible, 0.0F}));
  EXPECT_EQ(after(raise_end(0, 2.0, {0}), {-3.0F, 1.0F}, {0, 0}), (Scores{6.0F, 1.0F}));
  EXPECT_EQ(after(remove_invalid(), {std::nanf(""), kImpossible})[0], 0.0F);
  EXPECT_EQ(left(remove_invalid(), {kImpossible, 1.0F}), (Ids{0, 1}));
  EXPECT_NEAR(after(normalize(), {1.0F, 1.0F})[1], std::log(0.5), 1e-6);
  EXPECT_EQ(left(normalize(), {kImpossible, kImpossible}), Ids{});
}

TEST(Processors, IdsBeyondTheVocabularyAreErrors) {
  GenerationConfig config;
  config.bad_words_ids = {"2,9"};
  test::expect_error(ErrorKind::kArgument, {"bad_words_ids", "9", "4 tokens"}, [&] { make_processors(config, {}, 4); });
  config.bad_words_ids = {};
  config.eos_token_id = {4};
  test::expect_error(ErrorKind::kArgument, {"eos_token_id", "4"}, [&] { make_processors(config, {}, 4); });
}

}  // namespace
}  // namespace weft::generation
