// SPDX-License-Identifier: Apache-2.0
// Strides in columns: every edge of the pattern is in exactly one of the orders, there are fewer blocks, and what gains
// nothing keeps the order of the text.
#include "weft/pattern/compile/stride_columns.h"

#include <gtest/gtest.h>

#include <string>

#include "support/square_site.h"

namespace weft::pattern {
namespace {

/// How often the orders have the edge.
int counted(const StridesInColumns& split, const Site& site, std::int64_t query, std::int64_t key) {
  int count = split.rest ? split.rest->multiplicity(site, query, key) : 0;
  for (const StrideColumns& columns : split.columns) {
    Site places = site;
    places.query_length = places.key_length = columns.places();
    const auto place = [&](std::int64_t row) { return row % columns.stride * columns.rows + row / columns.stride; };
    count += columns.pattern.multiplicity(places, place(query), place(key));
  }
  return count;
}

TEST(StrideColumns, EveryEdgeIsInOneOrder) {
  constexpr std::int64_t kStep = WEFT_SANITIZED ? 1009 : 173;
  const struct {
    const char* expression;
    std::int64_t length;
    std::size_t strides;
  } cases[] = {{"strided(64)", 3072, 1},
               {"causal & (window(left=100) | stride(37))", 2999, 1},
               {"causal & stride(64)", 3001, 1},
               {"stride(50)", 1501, 1},
               {"stride(layer) | causal & stride(100) | window(5)", 2200, 1},
               {"causal & stride(60) | global(2)", 3050, 1},
               {"heads(causal & window(left=95), causal & stride(96))", 4051, 1},
               {"causal & heads(strided(64), stride(50) | window(3), stride(64) & window(300), window(9))", 7000, 2},
               {"strided(64, split=true)", 4160, 1}};
  for (const auto& each : cases) {
    SCOPED_TRACE(each.expression);
    const Pattern pattern = Pattern::parse(each.expression);
    Site site = test::square(each.length, 4);
    site.layer = 70;
    const auto split = strides_in_columns(pattern, site);
    ASSERT_TRUE(split);
    EXPECT_EQ(split->columns.size(), each.strides);
    EXPECT_LT(split->blocks, split->blocks_in_text);
    std::int64_t wrong = 0;
    for (site.head = 0; site.head < site.heads; ++site.head) {
      for (std::int64_t query = 0; query < each.length; query += kStep) {
        for (std::int64_t key = 0; key < each.length; ++key) {
          wrong += counted(*split, site, query, key) != pattern.multiplicity(site, query, key) ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(StrideColumns, SparePlacesAreSeenByNobodyBeforeThem) {
  const auto causal = strides_in_columns(Pattern::parse("strided(64)"), test::square(3001));
  ASSERT_TRUE(causal);
  EXPECT_EQ(causal->columns[0].places(), 64 * 47);
  EXPECT_TRUE(causal->columns[0].is_causal);
  EXPECT_FALSE(strides_in_columns(Pattern::parse("stride(64)"), test::square(3001))->columns[0].is_causal);
}

TEST(StrideColumns, CostFollowsTheEdges) {
  const auto split = strides_in_columns(Pattern::parse("strided(128)"), test::square(16384));
  ASSERT_TRUE(split);
  // Every second block has edges of the stride, and the blocks between have the band. Columns of 128 rows are three
  // blocks each; a row of blocks sees three of the band. Both are estimates from a sample of rows.
  EXPECT_NEAR(split->blocks_in_text, 256.0 * 257 / 4 + 512, 600);
  EXPECT_NEAR(split->blocks, 128 * 3 + 256 * 3, 60);
}

TEST(StrideColumns, OtherPatternsKeepTheOrderOfTheText) {
  for (const char* expression :
       {"causal & window(left=64)", "stride(1)", "stride(4096) | window(3)", "!stride(64)", "stride(64) & window(500)",
        "block(64, stride(64))", "stride(64) | global(input)", "stride(64) | circle(left=3)",
        "causal & (window(left=4000) | stride(64))", "axial(64, 64)"}) {
    Site site = test::square(4096);
    const std::int64_t input[] = {3};
    site.input = input;
    EXPECT_FALSE(strides_in_columns(Pattern::parse(expression), site)) << expression;
  }
  const Pattern strided = Pattern::parse("strided(64)");
  EXPECT_FALSE(strides_in_columns(strided, test::square(256))) << "short";
  Site decoding = test::square(4096);
  decoding.query_length = 1;
  decoding.query_offset = 4095;
  EXPECT_FALSE(strides_in_columns(strided, decoding));
}

}  // namespace
}  // namespace weft::pattern
