// SPDX-License-Identifier: Apache-2.0
// Which primitive an edge is drawn as.
#include "weft/pattern/edge_kind.h"

#include <string>

#include <gtest/gtest.h>

#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

/// The kinds of one row of queries: the first letter of each, '.' for none.
std::string kinds(const char* expression, std::int64_t query, std::int64_t length = 8) {
  Site site;
  site.query_length = length;
  site.key_length = length;
  std::string row;
  for (std::int64_t key = 0; key < length; ++key) {
    const EdgeKind kind = edge_kind(Pattern::parse(expression), site, query, key);
    row += kind == EdgeKind::kNone ? '.' : edge_kind_name(kind)[0];
  }
  return row;
}

TEST(EdgeKind, PrimitivesHaveTheirOwn) {
  EXPECT_EQ(kinds("full", 3), "ffffffff");
  EXPECT_EQ(kinds("causal", 3), "ffff....");
  EXPECT_EQ(kinds("window(3)", 3), "..www...");
  EXPECT_EQ(kinds("ring(2)", 0), "ww.....w");
  EXPECT_EQ(kinds("global(1)", 3), "g.......");
  EXPECT_EQ(kinds("axial(2, 4)", 1), "ssss.s..");
}

TEST(EdgeKind, TheMoreSpecialTermWins) {
  EXPECT_EQ(kinds("window(3) | global(1)", 1), "gww.....");
  EXPECT_EQ(kinds("causal & (window(left=2) | stride(4))", 7), "...s.www");
  EXPECT_EQ(kinds("causal & (segment(4) | summary(4, 1))", 5), "...sss..");
  EXPECT_EQ(kinds("full | window(3)", 4), "fffwwwff");
  EXPECT_EQ(kinds("!window(3)", 3), "oo...ooo");
  EXPECT_EQ(kinds("longformer(2) & causal", 3), "..ww....");
}

TEST(EdgeKind, BlocksAndPlansHandItOn) {
  EXPECT_EQ(kinds("block(2, window(1) | global(1))", 4), "gg..ww..");
  EXPECT_EQ(kinds("bigbird(block=1, plan=\"hf-eval\")", 4), "g..www.g");
}

TEST(EdgeKind, EveryKindHasAName) {
  for (int kind = 0; kind < kEdgeKinds; ++kind) {
    EXPECT_GT(std::string(edge_kind_name(static_cast<EdgeKind>(kind))).size(), 3U);
  }
}

}  // namespace
}  // namespace weft::pattern
