// SPDX-License-Identifier: Apache-2.0
// The short way to attention: an expression, a parsed pattern and the operator give the same numbers.
#include "weft/attention/attend.h"

#include <gtest/gtest.h>

#include <ATen/ops/randn.h>

#include "support/expect_error.h"
#include "support/piece_counter.h"
#include "weft/attention/mechanism.h"
#include "weft/pattern/build.h"

namespace weft::attention {
namespace {

constexpr const char* kExpression = "causal & (window(8) | global(1))";

class AttendTest : public ::testing::Test {
 protected:
  at::Tensor query_ = at::randn({2, 4, 100, 16});
  at::Tensor key_ = at::randn({2, 2, 100, 16});
  at::Tensor value_ = at::randn({2, 2, 100, 16});
};

TEST_F(AttendTest, ExpressionPatternAndOperatorAgree) {
  const pattern::Pattern pattern = pattern::Pattern::parse(kExpression);
  const Attend by_expression(kExpression, {.heads = 4, .head_dim = 16});
  const Attend by_pattern(pattern, {.heads = 4, .head_dim = 16});
  const at::Tensor expected =
      attend(query_, key_, value_,
             cached_layout(pattern, {.query_length = 100, .key_length = 100, .heads = 4}, pattern::Tile{}))
          .output;
  EXPECT_TRUE(by_expression(query_, key_, value_).equal(expected));
  EXPECT_TRUE(by_pattern(query_, key_, value_).equal(expected));
  EXPECT_EQ(by_expression.description(), pattern.to_string());
  EXPECT_EQ(by_pattern.description(), pattern.to_string());
}

TEST_F(AttendTest, ADecoderJoinsCausalToAPattern) {
  const pattern::Pattern pattern = pattern::Pattern::parse("window(8)");
  const auto module = make_attention(pattern, {.heads = 4, .head_dim = 16, .causal = true});
  EXPECT_EQ(module->description(), "causal & window(8)");
}

// 4,096 tokens of 8 heads under a window of 512: 8 * 64 * 9 blocks of 64 x 64, 1.2e9 operations.
TEST_F(AttendTest, ALongWatchedCallIsComputedInPieces) {
  const at::NoGradGuard no_graph;
  for (const char* const expression : {"window(512)", "window(512) | global(1)"}) {
    const Attend attend_to(expression, {.heads = 8, .head_dim = 32});
    const at::Tensor x = at::randn({1, 8, 4096, 32});
    const at::Tensor expected = attend_to(x, x, x);
    test::PieceCounter counter;
    const WatchedPieces watched(counter);
    // A row that sees all keys is cut into other parts, whose sums round differently.
    EXPECT_TRUE(attend_to(x, x, x).allclose(expected, 1e-5, 1e-6)) << expression;
    EXPECT_GE(counter.tokens().size(), 5U) << expression;
    EXPECT_LE(counter.tokens().size(), 64U) << expression;
  }
}

TEST_F(AttendTest, AWatchedCallEndsWhereNobodyWaits) {
  const at::NoGradGuard no_graph;
  const Attend attend_to("window(512)", {.heads = 8, .head_dim = 32});
  const at::Tensor x = at::randn({1, 8, 4096, 32});
  test::PieceCounter counter(2);
  const WatchedPieces watched(counter);
  test::expect_error(ErrorKind::kInterrupted, {"nobody waits"}, [&] { attend_to(x, x, x); });
  EXPECT_LE(counter.tokens().size(), 3U);
}

TEST_F(AttendTest, WhatDoesNotFitTheSiteIsAnError) {
  const pattern::Pattern two_heads = pattern::Pattern::parse("heads(1 * full, 1 * window(8))");
  test::expect_error(ErrorKind::kExpression, {"heads"}, [&] { Attend(two_heads, {.heads = 4, .head_dim = 16}); });
  test::expect_error(ErrorKind::kArgument, {"heads must be positive"}, [&] { Attend(two_heads, {.heads = 0}); });
}

}  // namespace
}  // namespace weft::attention
