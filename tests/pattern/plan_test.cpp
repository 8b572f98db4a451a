// SPDX-License-Identifier: Apache-2.0
// Plans: explicit ones built in C++, with repetitions that add up beside global and window blocks, and Hugging Face's
// evaluation plan, which an explicit plan of zeros must equal.
#include <gtest/gtest.h>

#include "pattern/dense_layout.h"
#include "support/expect_error.h"
#include "support/square_site.h"
#include "weft/pattern/build.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

constexpr const char* kAround = "global(first=1, last=1) | window(3)";

Pattern with_plan(std::int64_t size, BlockPlan blocks) {
  return Pattern(block(size, any_of({parse_node(kAround), plan(std::move(blocks))})));
}

TEST(Plan, RepetitionsAndOverlapsAddUp) {
  const Pattern pattern = with_plan(4, {{{{}, {3, 3, 1}, {0}, {}, {0, 0, 1}, {}}}});
  const Site site = test::square(24);
  EXPECT_EQ(pattern.multiplicity(site, 4, 12), 2) << "drawn twice, nowhere else";
  EXPECT_EQ(pattern.multiplicity(site, 4, 4), 2) << "drawn once, and in the window";
  EXPECT_EQ(pattern.multiplicity(site, 8, 3), 2) << "drawn once, and global";
  EXPECT_EQ(pattern.multiplicity(site, 16, 0), 3) << "drawn twice, and global";
  EXPECT_EQ(pattern.multiplicity(site, 16, 4), 1) << "drawn once";
  EXPECT_EQ(pattern.multiplicity(site, 12, 4), 0);
  EXPECT_EQ(pattern.multiplicity(site, 0, 12), 1);
}

TEST(Plan, CompilesToWeightsForEveryTile) {
  for (const std::int64_t size : {1, 3, 4, 16}) {
    const Pattern pattern = with_plan(size, {{{{}, {3, 3, 1}, {0}, {}, {0, 0, 1}, {}}}});
    const Site site = test::square(6 * size - (size > 1 ? 1 : 0));
    for (const Tile tile : {Tile{64, 64}, Tile{16, 16}, Tile{5, 8}, Tile{1, 32}}) {
      EXPECT_EQ(test::dense_layout(compile(pattern, site, tile), 0, 0), test::dense_oracle(pattern, site))
          << "block " << size << ", tile " << tile.query << " x " << tile.key;
    }
  }
}

TEST(Plan, EqualWeightsAreStoredOnce) {
  const Pattern pattern = Pattern::parse("bigbird(plan=\"hf-eval\")");
  const BlockLayout layout = compile(pattern, test::square(64 * 40, 12), {64, 64});
  EXPECT_EQ(layout.groups, 1);
  EXPECT_EQ(layout.log_weight.size(), 64U * 64U);
  EXPECT_FLOAT_EQ(layout.log_weight.front(), 1.3862944F) << "log 4: once global, three times drawn";
  EXPECT_EQ(statistics(layout).weighted_blocks, 12 * 38);
  EXPECT_EQ(statistics(layout).partial_blocks, 0);
}

TEST(Plan, ZerosAreWhatHuggingFaceEvaluates) {
  BlockPlan zeros;
  zeros.key_blocks.resize(1);
  for (int row = 0; row < 9; ++row) {
    zeros.key_blocks[0].push_back(row == 0 || row == 8 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{0, 0});
  }
  const Site site = test::square(9 * 4);
  EXPECT_EQ(test::dense_oracle(with_plan(4, zeros), site),
            test::dense_oracle(Pattern::parse("bigbird(block=4, random=2, plan=\"hf-eval\")"), site));
  EXPECT_EQ(test::dense_oracle(Pattern(block(4, any_of({parse_node(kAround), hf_eval_plan({2})}))), site),
            test::dense_oracle(with_plan(4, zeros), site));
}

TEST(Plan, HeadsHaveTheirOwnAndShareWhenEqual) {
  const std::vector<std::vector<std::int64_t>> first{{1}, {2, 2}, {0}};
  const std::vector<std::vector<std::int64_t>> second{{}, {}, {1, 1, 1}};
  const Pattern pattern = with_plan(2, {{first, second, first}});
  const Site site = test::square(6, 3);
  const BlockLayout layout = compile(pattern, site, {2, 8});
  EXPECT_EQ(layout.groups, 2);
  EXPECT_EQ(layout.group, (std::vector<std::int32_t>{0, 1, 0}));
  for (Site head = site; head.head < head.heads; ++head.head) {
    EXPECT_EQ(test::dense_layout(layout, 0, head.head), test::dense_oracle(pattern, head));
  }
}

TEST(Plan, PrintsADigestThatTellsPlansApart) {
  const auto text = [](std::int64_t key) { return to_string(*plan({{{{key}}}})); };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
  EXPECT_TRUE(text(1).starts_with("plan(heads=1, blocks=1, digest="));
}

TEST(Plan, MistakesAreErrors) {
  test::expect_error(ErrorKind::kArgument, {"negative", "-1"}, [] { plan({{{{-1}}}}); });
  test::expect_error(ErrorKind::kArgument, {"a head and a query block"}, [] { plan({}); });
  test::expect_error(ErrorKind::kArgument, {"differ in query blocks"}, [] { plan({{{{}}, {{}, {}}}}); });
  const Pattern pattern = with_plan(4, {{{{}, {2}, {}}, {{}, {}, {}}}});
  test::expect_error(ErrorKind::kExpression, {"2 heads", "has 1"}, [&] { pattern.check(test::square(12)); });
  test::expect_error(ErrorKind::kExpression, {"3 query blocks", "has 4"},
                     [&] { compile(pattern, test::square(16, 2), {}); });
  Site short_keys = test::square(12, 2);
  short_keys.key_length = 8;
  test::expect_error(ErrorKind::kExpression, {"key block 2", "has 2"}, [&] { pattern.check(short_keys); });
}

TEST(Build, CombinesWithoutText) {
  const Pattern pattern(
      all_of({parse_node("causal"), any_of({parse_node("window(3)"), complement(parse_node("star"))})}));
  EXPECT_EQ(pattern.to_string(), "causal & (window(3) | !star)");
  const Pattern per_head(heads({{2, parse_node("full")}, {6, block(8, parse_node("causal"))}}));
  EXPECT_EQ(per_head.to_string(), "heads(2 * full, 6 * block(8, causal))");
  EXPECT_EQ(Pattern(any_of({pattern.node(), parse_node("full")})).to_string(), "causal & (window(3) | !star) | full");
  test::expect_error(ErrorKind::kArgument, {"heads inside heads"}, [&] { heads({{{}, per_head.node()}}); });
  test::expect_error(ErrorKind::kArgument, {"block size", "found 0"}, [] { block(0, parse_node("full")); });
  test::expect_error(ErrorKind::kArgument, {"needs a term"}, [] { any_of({}); });
  test::expect_error(ErrorKind::kArgument, {"needs at least one"}, [] { heads({}); });
}

}  // namespace
}  // namespace weft::pattern
