// SPDX-License-Identifier: Apache-2.0
// Draws follow the probabilities, and are the same whenever they are asked for.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "support/expect_error.h"
#include "weft/generation/search/draw.h"

namespace weft::generation {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
using Scores = std::vector<float>;
using DrawnIds = std::vector<std::int64_t>;

Scores scores_of(const std::vector<double>& probabilities) {
  Scores scores;
  for (const double probability : probabilities) {
    scores.push_back(static_cast<float>(std::log(probability)));
  }
  return scores;
}

/// Sum of (found - expected)^2 / expected.
double chi_squared(const std::map<std::int64_t, std::int64_t>& counts, const std::vector<double>& probabilities,
                   std::int64_t draws) {
  double sum = 0.0;
  for (std::size_t id = 0; id < probabilities.size(); ++id) {
    const double expected = probabilities[id] * static_cast<double>(draws);
    const auto found = counts.find(static_cast<std::int64_t>(id));
    const double off = (found == counts.end() ? 0.0 : static_cast<double>(found->second)) - expected;
    sum += expected > 0 ? off * off / expected : 0.0;
  }
  return sum;
}

TEST(Draw, FollowsTheProbabilities) {
  const std::vector<double> probabilities = {0.05, 0.5, 0.0, 0.15, 0.3};
  const Scores scores = scores_of(probabilities);
  constexpr std::int64_t kDraws = 40'000;
  std::map<std::int64_t, std::int64_t> by_step;
  std::map<std::int64_t, std::int64_t> by_row;
  for (std::int64_t i = 0; i < kDraws; ++i) {
    ++by_step[draw(scores, {.seed = 99, .step = i})];
    ++by_row[draw(scores, {.seed = 99, .row = i})];
  }
  EXPECT_EQ(by_step[2], 0);
  // Three degrees of freedom: exceeded by chance once in a thousand seeds, and the seed is fixed.
  EXPECT_LT(chi_squared(by_step, probabilities, kDraws), 16.3);
  EXPECT_LT(chi_squared(by_row, probabilities, kDraws), 16.3);
}

TEST(Draw, SeveralAreThoseOfDrawingWithoutRepetition) {
  const std::vector<double> probabilities = {0.5, 0.25, 0.25, 0.0};
  const Scores scores = scores_of(probabilities);
  constexpr std::int64_t kDraws = 20'000;
  std::map<std::int64_t, std::int64_t> second;
  for (std::int64_t step = 0; step < kDraws; ++step) {
    const DrawnIds drawn = draw_several(scores, 2, {.seed = 4, .step = step});
    ASSERT_EQ(drawn.size(), 2U);
    ASSERT_NE(drawn[0], drawn[1]);
    ++second[drawn[1]];
  }
  // P(second = 0) = 2 (1/4 * 2/3); P(second = 1) = 1/2 * 1/2 + 1/4 * 1/3.
  EXPECT_LT(chi_squared(second, {1.0 / 3, 1.0 / 3, 1.0 / 3, 0.0}, kDraws), 13.8);
  EXPECT_EQ(draw_several(scores, 9, {}).size(), 3U);  // and no more than may come
}

TEST(Draw, IsAPureFunctionOfItsName) {
  const Scores scores(8, 0.0F);
  const auto drawn = [&](std::int64_t seed) {
    DrawnIds ids;
    for (std::int64_t step = 0; step < 32; ++step) {
      ids.push_back(draw(scores, {.seed = seed, .step = step}));
    }
    return ids;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  EXPECT_NE(drawn(1), drawn(-1));
}

TEST(Draw, TheLikeliestIsTheFirstOfEqualOnes) {
  EXPECT_EQ(likeliest(Scores{0.1F, 2.0F, 2.0F, -1.0F}), 1);
  EXPECT_EQ(likeliest(Scores{-kInfinity, 3.0F}), 1);
}

// Parts of a row in which no score is higher are passed over.
TEST(Draw, TheLikeliestOfALongRow) {
  for (const std::size_t best :
       {std::size_t{0}, std::size_t{63}, std::size_t{64}, std::size_t{130}, std::size_t{199}}) {
    Scores scores(200, -2.0F);
    scores[best] = -1.0F;
    EXPECT_EQ(likeliest(scores), static_cast<std::int64_t>(best));
    scores.back() = -1.0F;
    EXPECT_EQ(likeliest(scores), static_cast<std::int64_t>(best));
    scores[70] = std::nanf("");
    test::expect_error(ErrorKind::kNumeric, {"token 70", "nan"}, [&] { likeliest(scores); });
  }
}

TEST(Draw, NonFiniteScoresAreErrors) {
  const auto from = [&](const Scores& scores) { return [scores] { likeliest(scores); }; };
  test::expect_error(ErrorKind::kNumeric, {"token 1", "nan"}, from({1.0F, std::nanf("")}));
  test::expect_error(ErrorKind::kNumeric, {"token 0", "nan"}, from({std::nanf(""), 1.0F}));
  test::expect_error(ErrorKind::kNumeric, {"token 0", "inf"}, from({kInfinity, 1.0F}));
  test::expect_error(ErrorKind::kNumeric, {"no token"}, from({-kInfinity, -kInfinity}));
  test::expect_error(ErrorKind::kNumeric, {"no token"}, [] { draw_several(Scores{-kInfinity}, 2, {}); });
}

}  // namespace
}  // namespace weft::generation
