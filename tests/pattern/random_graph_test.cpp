// SPDX-License-Identifier: Apache-2.0
// random, erdos_renyi and watts_strogatz: counts of keys, statistics of the draws within five standard errors, and that
// heads, seeds and positions draw apart while the same question always has the same answer.
#include <cmath>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "pattern/dense_layout.h"
#include "support/square_site.h"
#include "weft/pattern/edge_kind.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

std::vector<int> cells(const std::string& expression, const Site& site) {
  return test::dense_oracle(Pattern::parse(expression), site);
}

std::int64_t row_sum(const std::vector<int>& table, std::int64_t length, std::int64_t row) {
  const auto begin = table.begin() + row * length;
  return std::count(begin, begin + length, 1);
}

TEST(Random, EveryQueryHasRDistinctKeys) {
  for (const std::int64_t length : {1, 7, 100}) {
    for (const std::int64_t count : {0, 1, 3, 50, 60, 99, 100, 500}) {
      const std::vector<int> table = cells("random(" + std::to_string(count) + ", seed=5)", test::square(length));
      for (std::int64_t row = 0; row < length; ++row) {
        ASSERT_EQ(row_sum(table, length, row), std::min(count, length)) << length << " keys, " << count;
      }
    }
  }
}

TEST(Random, KeysAreDrawnEvenly) {
  constexpr std::int64_t kLength = 400;
  const std::vector<int> table = cells("random(40)", test::square(kLength));
  double chi_square = 0;
  for (std::int64_t key = 0; key < kLength; ++key) {
    double seen = 0;
    for (std::int64_t query = 0; query < kLength; ++query) {
      seen += table[static_cast<std::size_t>(query * kLength + key)];
    }
    chi_square += (seen - 40) * (seen - 40) / (40 * 0.9);
  }
  EXPECT_NEAR(chi_square, kLength - 1, 5 * std::sqrt(2.0 * kLength));
}

TEST(Random, HeadsAndSeedsDrawApartUnlessShared) {
  Site first = test::square(64, 2);
  Site second = first;
  second.head = 1;
  EXPECT_NE(cells("random(3)", first), cells("random(3)", second));
  EXPECT_EQ(cells("random(3, share=heads)", first), cells("random(3, share=heads)", second));
  EXPECT_NE(cells("random(3, seed=1)", first), cells("random(3, seed=2)", first));
  EXPECT_NE(cells("erdos_renyi(0.1)", first), cells("erdos_renyi(0.1)", second));
  EXPECT_NE(cells("watts_strogatz(4, 0.5)", first), cells("watts_strogatz(4, 0.5)", second));
  EXPECT_EQ(compile(Pattern::parse("random(3)"), first, {}).groups, 2);
  EXPECT_EQ(compile(Pattern::parse("random(3, share=heads)"), first, {}).groups, 1);
  Site layer = first;
  layer.layer = 1;
  EXPECT_NE(cells("random(3, seed=layer)", first), cells("random(3, seed=layer)", layer));
  EXPECT_EQ(cells("random(3)", first), cells("random(3)", layer));
}

TEST(Random, RowsDoNotDependOnTheQueriesAsked) {
  Site whole = test::square(100);
  Site part = whole;
  part.query_length = 30;
  part.query_offset = 60;
  for (const char* expression : {"random(5)", "erdos_renyi(0.2)", "watts_strogatz(6, 0.4)"}) {
    const std::vector<int> all = cells(expression, whole);
    const std::vector<int> some = cells(expression, part);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 60 * 100)) << expression;
  }
}

TEST(Random, InsideABlockItDrawsBlocks) {
  const std::vector<int> table = cells("block(8, random(2, seed=1))", test::square(80));
  for (std::int64_t row = 0; row < 80; ++row) {
    EXPECT_EQ(row_sum(table, 80, row), 16);
  }
}

TEST(Random, ThreadsAgree) {
  const Pattern pattern = Pattern::parse("random(8, seed=2) | erdos_renyi(0.01)");
  const Site site = test::square(3000, 4);
  const BlockLayout alone = compile(pattern, site, {});
  std::vector<std::vector<std::int32_t>> found(4);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (auto& blocks : found) {
    threads.emplace_back([&] { blocks = compile(pattern, site, {}).key_block; });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& blocks : found) {
    EXPECT_EQ(blocks, alone.key_block);
  }
}

TEST(ErdosRenyi, HasTheShareOfEdgesAsked) {
  constexpr std::int64_t kLength = 3000;
  constexpr double kPairs = static_cast<double>(kLength) * kLength;
  for (const double probability : {1e-5, 0.001, 0.1, 0.5, 0.97}) {
    const Pattern pattern = Pattern::parse("erdos_renyi(" + std::to_string(probability) + ", seed=3)");
    const auto edges = static_cast<double>(compile(pattern, test::square(kLength), {}).edges());
    EXPECT_NEAR(edges, probability * kPairs, 5 * std::sqrt(kPairs * probability * (1 - probability))) << probability;
  }
  EXPECT_EQ(compile(Pattern::parse("erdos_renyi(0)"), test::square(100), {}).edges(), 0);
  EXPECT_EQ(compile(Pattern::parse("erdos_renyi(1)"), test::square(100), {}).edges(), 10000);
}

TEST(ErdosRenyi, ChunksJoinWithoutASeam) {
  // Edges at the first and the last place of a chunk of 1,024 keys, over 4,000 rows.
  Site site = test::square(2048);
  site.query_length = 4000;
  const Pattern pattern = Pattern::parse("erdos_renyi(0.3)");
  for (const std::int64_t key : {0, 1023, 1024, 2047}) {
    double seen = 0;
    for (std::int64_t query = 0; query < site.query_length; ++query) {
      seen += pattern.multiplicity(site, query, key);
    }
    EXPECT_NEAR(seen, 1200, 5 * std::sqrt(4000 * 0.3 * 0.7)) << key;
  }
}

TEST(ErdosRenyi, AnswersFarAwayWithoutWalkingThere) {
  Site site = test::square(std::int64_t{1} << 40);
  for (const char* expression : {"erdos_renyi(0.5)", "erdos_renyi(1e-12)", "erdos_renyi(4.9e-324)", "random(1000)"}) {
    const Pattern pattern = Pattern::parse(expression);
    EXPECT_LE(pattern.multiplicity(site, site.query_length - 1, site.key_length - 1), 1) << expression;
  }
}

TEST(WattsStrogatz, WithoutRewiringIsTheRing) {
  for (const std::int64_t length : {1, 2, 5, 40}) {
    EXPECT_EQ(cells("watts_strogatz(6, 0)", test::square(length)), cells("ring(6)", test::square(length))) << length;
  }
}

TEST(WattsStrogatz, KeepsTheDegreeAndRewiresTheShareAsked) {
  constexpr std::int64_t kLength = 500;
  const std::vector<int> ring = cells("ring(10)", test::square(kLength));
  for (const double beta : {0.1, 0.5, 1.0}) {
    const std::vector<int> table = cells("watts_strogatz(10, " + std::to_string(beta) + ")", test::square(kLength));
    double kept = 0;
    for (std::int64_t row = 0; row < kLength; ++row) {
      ASSERT_EQ(row_sum(table, kLength, row), 11);
      ASSERT_EQ(table[static_cast<std::size_t>(row * (kLength + 1))], 1) << "a query keeps itself";
      for (std::int64_t key = 0; key < kLength; ++key) {
        const auto cell = static_cast<std::size_t>(row * kLength + key);
        kept += table[cell] == 1 && ring[cell] == 1 && row != key ? 1 : 0;
      }
    }
    const double edges = 10.0 * kLength;
    EXPECT_NEAR(kept, (1 - beta) * edges, 5 * std::sqrt(edges * 0.25) + 0.02 * edges) << beta;
  }
}

TEST(WattsStrogatz, ColoursRingAndRewiredEdges) {
  const Pattern pattern = Pattern::parse("watts_strogatz(4, 1)");
  const Site site = test::square(50);
  std::set<EdgeKind> kinds;
  for (std::int64_t key = 0; key < 50; ++key) {
    kinds.insert(edge_kind(pattern, site, 20, key));
  }
  EXPECT_EQ(edge_kind(pattern, site, 20, 20), EdgeKind::kWindow);
  EXPECT_TRUE(kinds.contains(EdgeKind::kRandom));
}

}  // namespace
}  // namespace weft::pattern
