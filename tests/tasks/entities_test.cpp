// SPDX-License-Identifier: Apache-2.0
// Entities where windows overlap, and at their edges; the strategies stand beside `transformers` in
// decode_cases_test.cpp.
#include "weft/tasks/decode/entities.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/tasks/decode/tagged_tokens.h"

namespace weft::tasks {
namespace {

using test::expect_error;

Entity place(std::int64_t begin, std::int64_t end, double score) {
  Entity entity;
  entity.label = "X";
  entity.score = score;
  entity.offsets = {begin, end};
  return entity;
}

TEST(WithoutOverlaps, TheLongestStaysAndOfEqualOnesTheSurest) {
  const std::vector<Entity> kept = without_overlaps({place(20, 25, 0.4), place(0, 5, 0.9), place(3, 10, 0.1),
                                                     place(20, 25, 0.8), place(22, 24, 0.99), place(25, 30, 0.5)});
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].offsets, (text::Span{3, 10}));
  EXPECT_EQ(kept[1].offsets, (text::Span{20, 25}));
  EXPECT_DOUBLE_EQ(kept[1].score, 0.8);
  EXPECT_EQ(kept[2].offsets, (text::Span{25, 30}));
  EXPECT_TRUE(without_overlaps({}).empty());
}

TEST(OwnTokens, EveryTokenBelongsToOneWindow) {
  // Windows of 10 that share 3: tokens 0-9, 7-16, 14-19.
  for (const std::size_t stride : {std::size_t{0}, std::size_t{3}, std::size_t{4}}) {
    const std::size_t step = 10 - stride;
    std::vector<int> seen(10 + 2 * step, 0);
    for (std::size_t window = 0; window < 3; ++window) {
      const auto [begin, end] = own_tokens(10, window, 3, stride);
      for (std::size_t token = begin; token < end; ++token) {
        ++seen[window * step + token];
      }
    }
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << "stride " << stride;
  }
  EXPECT_EQ(own_tokens(5, 0, 1, 3), (std::pair<std::size_t, std::size_t>{0, 5}));
}

TEST(Aggregate, NothingAndMistakes) {
  const std::vector<std::string> labels = {"O", "B-X"};
  const JoinTokens join = [](const std::vector<std::string>& tokens) { return tokens.empty() ? "" : tokens.front(); };
  EXPECT_TRUE(aggregate({}, labels, Aggregation::kMax, join).empty());
  TaggedToken token;
  token.scores = {1, 0, 0};
  expect_error(ErrorKind::kArgument, {"3 scores", "2 labels"},
               [&] { aggregate({&token, 1}, labels, Aggregation::kNone, join); });
  expect_error(ErrorKind::kArgument, {"'best'"}, [] { parse_aggregation("best"); });
}

TEST(WithoutLabels, ComparesWholeNames) {
  const std::vector<std::string> ignored = {"O"};
  std::vector<Entity> entities = {place(0, 1, 1), place(1, 2, 1)};
  entities[0].label = "O";
  entities[1].label = "OO";
  EXPECT_EQ(without_labels(entities, ignored).size(), 1U);
}

}  // namespace
}  // namespace weft::tasks
