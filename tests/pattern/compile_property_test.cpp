// SPDX-License-Identifier: Apache-2.0
// For random expressions, lengths, tiles and batch rows: compile() equals multiplicity() cell by cell, canonical
// printing parses back to itself, and the transpose holds the same blocks.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pattern/dense_layout.h"
#include "pattern/random_pattern.h"
#include "weft/core/error.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

constexpr Tile kTiles[] = {{64, 64}, {16, 16}, {32, 8}, {1, 64}, {128, 128}, {3, 32}, {64, 128}};

constexpr std::uint64_t kSamples = WEFT_SANITIZED ? 150 : 500;

std::uint64_t first_seed() {
  const char* given = std::getenv("WEFT_TEST_SEED");
  return given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
}

/// A random pattern that fits its random site; those that do not (a grid too small, say) are drawn again.
struct Sample {
  std::vector<std::int64_t> input;
  Site site;
  std::string expression;
  test::RandomPattern random;

  explicit Sample(std::uint64_t seed) : random(seed) {
    for (;;) {
      input.clear();
      expression = random.expression(static_cast<int>(random.between(0, 4)));
      site = random.site(input);
      std::sort(input.begin(), input.end());
      site.input = input;
      try {
        Pattern::parse(expression).check(site);
        return;
      } catch (const Error&) {
        continue;
      }
    }
  }
};

std::int64_t count_edges(const std::vector<int>& cells) {
  return static_cast<std::int64_t>(cells.size()) - std::count(cells.begin(), cells.end(), 0);
}

TEST(CompileProperty, EqualsMultiplicity) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + kSamples; ++seed) {
    Sample sample(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + sample.expression);
    const Pattern pattern = Pattern::parse(sample.expression);
    const BlockLayout layout = compile(pattern, sample.site, kTiles[seed % std::size(kTiles)]);
    std::int64_t edges = 0;
    for (Site site = sample.site; site.head < site.heads; ++site.head) {
      const std::vector<int> expected = test::dense_oracle(pattern, site);
      ASSERT_EQ(test::dense_layout(layout, 0, site.head), expected) << "head " << site.head;
      edges += count_edges(expected);
    }
    ASSERT_EQ(layout.edges(), edges);
    ASSERT_LE(edges, layout.slots());
  }
}

TEST(CompileProperty, RowsOfABatchHaveTheirOwnLengthsAndInput) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + 150; ++seed) {
    Sample sample(seed + 100000);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + sample.expression);
    const Pattern pattern = Pattern::parse(sample.expression);
    std::vector<RowBinding> rows(3);
    rows[0].input = sample.input;
    rows[1].input = {sample.input.rbegin(), sample.input.rend()};
    rows[1].input.insert(rows[1].input.end(), sample.input.begin(), sample.input.end());
    rows[2].query_length = sample.random.between(0, sample.site.query_length);
    rows[2].key_length = sample.random.between(0, sample.site.key_length);
    const BlockLayout layout = compile(pattern, sample.site, kTiles[seed % std::size(kTiles)], rows);
    Site site = sample.site;
    for (std::int64_t head = 0; head < site.heads; ++head) {
      EXPECT_EQ(layout.view().group_of(0, head), layout.view().group_of(1, head));
    }
    site.head = sample.random.between(0, 3);
    ASSERT_EQ(test::dense_layout(layout, 1, site.head), test::dense_oracle(pattern, site));
    site.query_length = *rows[2].query_length;
    site.key_length = *rows[2].key_length;
    site.input = {};
    const std::vector<int> padded = test::dense_layout(layout, 2, site.head);
    std::vector<int> inside;
    for (std::int64_t i = 0; i < site.query_length; ++i) {
      const auto row = padded.begin() + i * layout.key_length;
      inside.insert(inside.end(), row, row + site.key_length);
    }
    ASSERT_EQ(inside, test::dense_oracle(pattern, site));
    ASSERT_EQ(count_edges(padded), count_edges(inside)) << "padding has an edge";
  }
}

TEST(CompileProperty, CanonicalTextParsesToItself) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + 2000; ++seed) {
    test::RandomPattern random(seed);
    const std::string expression = random.expression(static_cast<int>(random.between(0, 6)));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + expression);
    const Pattern pattern = Pattern::parse(expression);
    const std::string text = pattern.to_string();
    ASSERT_EQ(Pattern::parse(text).to_string(), text);
    ASSERT_EQ(Pattern::parse(text).expanded(), pattern.expanded());
    const std::string expanded = Pattern::parse(pattern.expanded()).to_string();
    ASSERT_EQ(expanded, pattern.expanded());
  }
}

TEST(CompileProperty, TransposeHoldsTheSameBlocks) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + 100; ++seed) {
    Sample sample(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + sample.expression);
    const BlockLayout layout = compile(Pattern::parse(sample.expression), sample.site, {16, 8});
    const LayoutTranspose columns = transpose(layout);
    ASSERT_EQ(columns.block.size(), layout.key_block.size());
    std::vector<bool> seen(layout.key_block.size(), false);
    for (std::int64_t column = 0; column < layout.groups * layout.key_blocks(); ++column) {
      std::int64_t last = -1;
      for (std::int64_t at = columns.view().column_begin[column]; at < columns.view().column_begin[column + 1]; ++at) {
        const auto block = static_cast<std::size_t>(columns.view().block[at]);
        const std::int64_t row = columns.view().query_block[at];
        const auto row_at = static_cast<std::size_t>(column / layout.key_blocks() * layout.query_blocks() + row);
        ASSERT_GT(row, last);
        ASSERT_FALSE(seen[block]);
        ASSERT_EQ(layout.key_block[block], column % layout.key_blocks());
        ASSERT_GE(static_cast<std::int64_t>(block), layout.row_begin[row_at]);
        ASSERT_LT(static_cast<std::int64_t>(block), layout.row_begin[row_at + 1]);
        seen[block] = true;
        last = row;
      }
    }
    ASSERT_EQ(std::count(seen.begin(), seen.end(), false), 0);
  }
}

}  // namespace
}  // namespace weft::pattern
