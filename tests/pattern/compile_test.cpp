// SPDX-License-Identifier: Apache-2.0
// What compile() promises beyond the meaning: heads and rows share, equal masks are stored once, cost follows blocks;
// and what layouts say about themselves.
#include <gtest/gtest.h>

#include "pattern/dense_layout.h"
#include "support/expect_error.h"
#include "support/square_site.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

BlockLayout layout_of(const char* expression, const Site& site, Tile tile = {}, std::span<const RowBinding> rows = {}) {
  return compile(Pattern::parse(expression), site, tile, rows);
}

TEST(Compile, HeadsWithEqualPatternsShareAGroup) {
  EXPECT_EQ(layout_of("heads(2 * causal, 1 * full, 1 * causal)", test::square(100, 4)).group,
            (std::vector<std::int32_t>{0, 0, 1, 0}));
  EXPECT_EQ(layout_of("longformer(8)", test::square(100, 12)).groups, 1);
  EXPECT_EQ(layout_of("heads(star, ring(2) | global(1))", test::square(100, 2)).groups, 1) << "a name is its expansion";
}

TEST(Compile, RowsWithEqualInputShareAGroup) {
  std::vector<RowBinding> rows(4);
  rows[0].input = {3, 40};
  rows[1].input = {40, 3, 3};
  rows[3].key_length = 99;
  const BlockLayout layout = layout_of("window(3) | global(input)", test::square(100, 2), {}, rows);
  EXPECT_EQ(layout.batch, 4);
  EXPECT_EQ(layout.group, (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(layout_of("window(3)", test::square(100, 2), {}, std::span(rows).first(3)).groups, 1)
      << "input is not named";
}

TEST(Compile, EqualMasksAreStoredOnceAndBlocksStayLinear) {
  const BlockLayout layout = layout_of("window(512)", test::square(1 << 16));
  EXPECT_EQ(layout.mask_bits.size(), 2U * 64U);
  EXPECT_LE(layout.blocks(), 9 * layout.query_blocks());
  const BlockLayout strided = layout_of("strided(256)", test::square(1 << 14));
  EXPECT_LE(strided.mask_bits.size(), 3U * 64U);
}

TEST(Compile, FullBlocksAreFullAtShortEnds) {
  const LayoutStatistics full = statistics(layout_of("full", test::square(100)));
  EXPECT_EQ(full.full_blocks, 4);
  EXPECT_EQ(full.edges, 10000);
  EXPECT_EQ(full.slots, 10000);
  EXPECT_DOUBLE_EQ(full.edges_per_slot, 1);
  EXPECT_DOUBLE_EQ(full.density, 1);
  std::vector<RowBinding> rows(1);
  rows[0].key_length = 99;
  EXPECT_EQ(statistics(layout_of("full", test::square(100), {}, rows)).partial_blocks, 2)
      << "a shorter row ends inside a block";
}

// What a cache of layouts asks: one layout may serve all layers only where none is named.
TEST(Compile, PatternsSayWhetherTheyDependOnTheLayer) {
  for (const char* expression : {"window(layer)", "random(3, seed=layer) | window(4)", "bigbird", "longformer(layer)",
                                 "block(4, window(3) | heads(full, global(layer)))"}) {
    EXPECT_TRUE(Pattern::parse(expression).depends_on_layer()) << expression;
  }
  for (const char* expression : {"full", "random(3, seed=7)", "bigbird(seed=3)", "strided(8)"}) {
    EXPECT_FALSE(Pattern::parse(expression).depends_on_layer()) << expression;
  }
}

TEST(Compile, StatisticsSumOverHeads) {
  const BlockLayout layout = layout_of("heads(causal, window(1))", test::square(128, 2));
  const LayoutStatistics figures = statistics(layout);
  EXPECT_EQ(figures.edges, 128 * 129 / 2 + 128);
  EXPECT_EQ(figures.full_blocks, 1);
  EXPECT_EQ(figures.partial_blocks, 4);
  EXPECT_EQ(figures.blocks, 5);
  EXPECT_EQ(figures.slots, 5 * 64 * 64);
  EXPECT_DOUBLE_EQ(figures.density, static_cast<double>(figures.edges) / (2 * 128 * 128));
  EXPECT_EQ(figures.bytes, layout.bytes());
  EXPECT_GT(layout.bytes(), layout.mask_bits.size() * 8);
}

TEST(Compile, EmptyLengthsAndEmptyPatterns) {
  for (const char* expression : {"full", "window(3)", "block(4, global(1))", "ring(3)", "!full", "heads(full)"}) {
    const BlockLayout none = layout_of(expression, test::square(0));
    EXPECT_EQ(none.blocks(), 0);
    EXPECT_EQ(none.row_begin, (std::vector<std::int64_t>{0}));
    Site no_keys = test::square(70);
    no_keys.key_length = 0;
    EXPECT_EQ(layout_of(expression, no_keys).row_begin, (std::vector<std::int64_t>{0, 0, 0}));
    Site no_queries = test::square(70);
    no_queries.query_length = 0;
    EXPECT_EQ(layout_of(expression, no_queries).edges(), 0);
  }
  const BlockLayout empty = layout_of("!full", test::square(70));
  EXPECT_EQ(empty.blocks(), 0);
  EXPECT_EQ(transpose(empty).column_begin, (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_DOUBLE_EQ(statistics(empty).edges_per_slot, 0);
}

TEST(Compile, DecodingOneQueryAtATimeIsARowOfTheWhole) {
  for (const char* expression : {"causal & (window(9) | stride(7) | global(2, side=keys))", "block(4, window(3))",
                                 "block(4, global(first=1, last=1) | window(3) | random(2, plan=\"hf-eval\"))",
                                 "!block(3, block(2, segment(2)))"}) {
    const Pattern pattern = Pattern::parse(expression);
    const std::vector<int> whole = test::dense_oracle(pattern, test::square(90));
    for (std::int64_t position = 0; position < 90; ++position) {
      Site site = test::square(90);
      site.query_length = 1;
      site.query_offset = position;
      const auto row = whole.begin() + position * 90;
      ASSERT_EQ(test::dense_layout(compile(pattern, site, {1, 64}), 0, 0), std::vector<int>(row, row + 90))
          << expression << " at " << position;
    }
  }
}

TEST(Compile, TilesAreChecked) {
  for (const Tile tile : {Tile{0, 64}, Tile{64, 0}, Tile{64, 48}, Tile{64, 65}, Tile{64, 4}, Tile{-1, 64},
                          Tile{64, -64}, Tile{1 << 20, 64}, Tile{64, 1 << 20}}) {
    test::expect_error(ErrorKind::kArgument, {"a tile has"}, [&] { layout_of("full", test::square(8), tile); });
  }
}

TEST(Compile, RowsAreChecked) {
  std::vector<RowBinding> rows(1);
  rows[0].input = {8};
  test::expect_error(ErrorKind::kArgument, {"input", "[0, 8)", "8"},
                     [&] { layout_of("longformer(4)", test::square(8), {}, rows); });
  rows[0].input = {-1};
  test::expect_error(ErrorKind::kArgument, {"input", "-1"},
                     [&] { layout_of("longformer(4)", test::square(8), {}, rows); });
  rows[0] = {{}, 9, std::nullopt};
  test::expect_error(ErrorKind::kArgument, {"9 queries", "the site has 8"},
                     [&] { layout_of("full", test::square(8), {}, rows); });
  rows[0] = {{}, -1, std::nullopt};
  test::expect_error(ErrorKind::kArgument, {"query length", "-1"},
                     [&] { layout_of("full", test::square(8), {}, rows); });
}

}  // namespace
}  // namespace weft::pattern
