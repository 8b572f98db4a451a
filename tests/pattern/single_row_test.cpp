// SPDX-License-Identifier: Apache-2.0
// A token that is decoded asks for the layout of one query: it equals the row of the whole layout, and what it costs in
// questions and bytes follows the edges of the row, however long the sequence.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pattern/dense_layout.h"
#include "pattern/random_pattern.h"
#include "weft/core/error.h"
#include "weft/pattern/build.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

/// The site of the query at `position` alone.
Site row_of(const Site& site, std::int64_t query) {
  Site row = site;
  row.query_offset += query;
  row.query_length = 1;
  return row;
}

void expect_rows_of_whole(const std::string& expression, const Site& site, test::RandomPattern& random) {
  const Pattern pattern = Pattern::parse(expression);
  const BlockLayout whole = compile(pattern, site, {64, 64});
  for (int times = 0; times < 4; ++times) {
    const std::int64_t query = random.between(0, site.query_length - 1);
    const BlockLayout row = compile(pattern, row_of(site, query), {1, 64});
    for (std::int64_t head = 0; head < site.heads; ++head) {
      const std::vector<int> cells = test::dense_layout(whole, 0, head);
      const auto begin = cells.begin() + query * site.key_length;
      ASSERT_EQ(test::dense_layout(row, 0, head), std::vector<int>(begin, begin + site.key_length))
          << "query " << query << ", head " << head;
    }
  }
}

TEST(SingleRow, EqualsTheRowOfTheWholeLayout) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    test::RandomPattern random(seed + 5000);
    const std::string expression = random.expression(static_cast<int>(random.between(0, 3)));
    std::vector<std::int64_t> input;
    Site site = random.site(input);
    std::sort(input.begin(), input.end());
    site.input = input;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + expression);
    try {
      Pattern::parse(expression).check(site);
    } catch (const Error&) {
      continue;  // a grid too small for the site, say
    }
    if (site.query_length > 0) {
      expect_rows_of_whole(expression, site, random);
      ++compared;
    }
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(compared, 250);
}

/// A pattern that counts what it is asked.
class Counted final : public Node {
 public:
  explicit Counted(NodePtr pattern) : pattern_(std::move(pattern)) {}
  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    ++questions;
    return pattern_->multiplicity(context, query, key);
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    ++questions;
    return pattern_->uniform(context, query, key);
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    ++questions;
    return pattern_->row_bits(context, query, first, count);
  }
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    ++questions;
    return pattern_->first_key(context, query, key);
  }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    ++questions;
    pattern_->signature(context, query, key, numbers);
  }
  EdgeKind edge_kind(const Context& context, std::int64_t query, std::int64_t key) const override {
    return pattern_->edge_kind(context, query, key);
  }
  std::int64_t period(const Context& context) const override { return pattern_->period(context); }
  std::span<const NodePtr> children() const override { return {&pattern_, 1}; }
  void print(Printer& printer) const override { printer.node(*pattern_); }

  mutable std::int64_t questions = 0;

 private:
  NodePtr pattern_;
};

TEST(SingleRow, CostFollowsItsEdges) {
  for (const char* expression :
       {"causal & window(512)", "strided(128)", "strided(1024)", "fixed(128, 8)", "causal & segment(300)",
        "causal & summary(500, 1)", "causal & axial(512, 512)", "causal & ring(40)", "causal & random(64)",
        "causal & erdos_renyi(0.01)", "causal & watts_strogatz(16, 0.1)", "causal & (window(64) | global(4))",
        "causal & block(64, window(3) | random(3))"}) {
    for (const std::int64_t length : {1024, 16384, 65536, 262144}) {
      SCOPED_TRACE(concat(expression, " at ", length));
      const auto counted = std::make_shared<const Counted>(parse_node(expression));
      const BlockLayout row =
          compile(Pattern(counted), {.query_length = 1, .key_length = length, .query_offset = length - 1}, {1, 64});
      const std::int64_t edges = row.edges();
      EXPECT_GT(edges, 0);
      EXPECT_LE(row.blocks(), edges);
      EXPECT_LE(counted->questions, 8 * row.blocks() + 64);
      EXPECT_LE(row.bytes(), static_cast<std::size_t>(32 * row.blocks() + 256));
    }
  }
}

}  // namespace
}  // namespace weft::pattern
