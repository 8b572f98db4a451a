// SPDX-License-Identifier: Apache-2.0
// Scores, pooling and batches at their edges; their ordinary cases stand beside `transformers` in
// decode_cases_test.cpp.
#include "weft/tasks/decode/scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/encoder_runner.h"

namespace weft::tasks {
namespace {

using test::expect_error;

TEST(Softmax, LargeLogitsAndNone) {
  const std::vector<float> large = {1e6F, 1e6F, -1e6F};
  const std::vector<double> scores = softmax(large);
  EXPECT_DOUBLE_EQ(scores[0], 0.5);
  EXPECT_DOUBLE_EQ(scores[2], 0);
  EXPECT_TRUE(softmax({}).empty());
}

TEST(Softmax, WhatIsNotFiniteIsAnError) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> logits = {0, value};
    expect_error(ErrorKind::kNumeric, {"output 1 of 2", "finite"}, [&] { softmax(logits); });
    expect_error(ErrorKind::kNumeric, {"finite"}, [&] { label_scores(logits, ScoreFunction::kNone); });
    expect_error(ErrorKind::kNumeric, {"finite"}, [&] { best_tokens(logits, {}); });
  }
}

TEST(Best, TiesKeepTheirOrder) {
  const std::vector<double> scores = {1, 3, 3, 2};
  const std::vector<Scored> found = best(scores, 3);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].index, 1);
  EXPECT_EQ(found[1].index, 2);
  EXPECT_EQ(found[2].index, 3);
  EXPECT_EQ(best(scores, 0).size(), 4U);
  EXPECT_EQ(best(scores, 99).size(), 4U);
}

TEST(BestTokens, RowsWithoutATokenAreNoCandidates) {
  const std::vector<float> logits = {0, 1, 9};
  const std::vector<Scored> found = best_tokens(logits, {.count = 2, .vocabulary = 2});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].index, 1);
  EXPECT_LT(found[0].score, 0.001);  // the row without a token has its share of the probability, as in transformers
}

TEST(BestTokens, TargetsAreChecked) {
  const std::vector<float> logits = {0, 1, 2};
  const std::vector<std::int64_t> twice = {1, 1, 0};
  EXPECT_EQ(best_tokens(logits, {.targets = twice}).size(), 2U);
  const std::vector<std::int64_t> beyond = {3};
  expect_error(ErrorKind::kArgument, {"target 3", "vocabulary of 3"},
               [&] { best_tokens(logits, {.targets = beyond}); });
}

TEST(ScoreFunctions, Names) {
  EXPECT_EQ(to_string(score_function("default", "", 1)), "sigmoid");
  EXPECT_EQ(to_string(score_function("default", "regression", 1)), "none");
  EXPECT_EQ(to_string(score_function("default", "", 2)), "softmax");
  expect_error(ErrorKind::kArgument, {"'relu'"}, [] { score_function("relu", "", 2); });
}

TEST(Batches, LikeLengthsTogetherLongestFirst) {
  const std::vector<std::int64_t> lengths = {5, 100, 6, 100, 5};
  const auto batches = batches_by_length(lengths, {.rows = 2, .tokens = 150});
  const std::vector<std::vector<std::size_t>> expected = {{1}, {3}, {2}, {0, 4}};
  EXPECT_EQ(batches, expected);
  EXPECT_TRUE(batches_by_length({}, {}).empty());
}

TEST(Batches, ALongTextMakesNoShortOnesLong) {
  const std::vector<std::int64_t> lengths = {20, 500, 18, 22, 490, 19};
  const std::vector<std::vector<std::size_t>> apart = {{1, 4}, {3, 0, 5, 2}};
  EXPECT_EQ(batches_by_length(lengths, {}), apart);
  const std::vector<std::vector<std::size_t>> written = {{1, 4, 3, 0, 5, 2}};
  EXPECT_EQ(batches_by_length(lengths, {.pass = kWritingPass}), written);
}

// Every way to cut the sorted lengths into batches that are allowed.
std::int64_t least_cost(std::span<const std::int64_t> sorted, const BatchLimits& limits) {
  if (sorted.empty()) {
    return 0;
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t rows = 1; rows <= std::min(sorted.size(), static_cast<std::size_t>(limits.rows)); ++rows) {
    const std::int64_t tokens = static_cast<std::int64_t>(rows) * sorted.front();
    if (rows == 1 || tokens <= limits.tokens) {
      least = std::min(least, limits.pass + tokens + least_cost(sorted.subspan(rows), limits));
    }
  }
  return least;
}

TEST(Batches, NoOtherCutCostsLess) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 generator(seed);
    const auto below = [&](std::uint64_t count) { return static_cast<std::int64_t>(generator() % count); };
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(1 + below(12)));
    std::ranges::generate(lengths, [&] { return below(90); });
    const BatchLimits limits{.rows = 1 + below(6), .tokens = 1 + below(300), .pass = below(60)};
    std::int64_t cost = 0;
    std::size_t rows = 0;
    for (const std::vector<std::size_t>& batch : batches_by_length(lengths, limits)) {
      cost += limits.pass + static_cast<std::int64_t>(batch.size()) * lengths[batch.front()];
      rows += batch.size();
    }
    EXPECT_EQ(rows, lengths.size());
    std::ranges::sort(lengths, std::greater());
    EXPECT_EQ(cost, least_cost(lengths, limits));
  }
}

TEST(Batches, OneRowAlwaysFits) {
  const std::vector<std::int64_t> lengths = {1000, 1000};
  EXPECT_EQ(batches_by_length(lengths, {.rows = 8, .tokens = 10}).size(), 2U);
  expect_error(ErrorKind::kArgument, {"at least 1"}, [&] { batches_by_length(lengths, {.rows = 0}); });
}

TEST(Documents, Stride) {
  EXPECT_EQ(default_stride(4096), 128);
  EXPECT_EQ(default_stride(512), 128);
  EXPECT_EQ(default_stride(16), 4);
  EXPECT_EQ(default_stride(3), 0);
}

}  // namespace
}  // namespace weft::tasks
