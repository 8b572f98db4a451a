// SPDX-License-Identifier: Apache-2.0
// Layouts that know when they are dense, the cache, rows in batches, and LibTorch's threads behind
// ParallelFor.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>

#include "attention/small_calls.h"
#include "weft/attention/backends/blocks/pieces.h"
#include "weft/attention/backends/blocks/row_batches.h"
#include "weft/attention/thread_pool.h"
#include "weft/pattern/build.h"

namespace weft::test {
namespace {

TEST(Layout, KnowsWhenItIsDense) {
  for (const std::int64_t length : {1, 63, 64, 65, 200}) {
    for (const pattern::Tile tile : {pattern::Tile{64, 64}, pattern::Tile{16, 32}, pattern::Tile{1, 64}}) {
      const auto full = layout_of("full", length, 2, tile);
      const auto causal = layout_of("causal", length, 2, tile);
      EXPECT_TRUE(full->is_full());
      EXPECT_TRUE(causal->is_causal());
      EXPECT_EQ(full->is_causal(), length == 1);
      EXPECT_EQ(causal->is_full(), length == 1);
    }
  }
  EXPECT_FALSE(layout_of("causal & window(400)", 300, 1)->is_causal());
  EXPECT_TRUE(layout_of("causal & window(800)", 300, 1)->is_causal());
  EXPECT_FALSE(layout_of("window(left=298)", 300, 1)->is_causal());  // one edge less
  EXPECT_FALSE(layout_of("heads(full, causal)", 100, 2)->is_full());
  // As many edges as the causal triangle, but others.
  EXPECT_FALSE(layout_of("window(right=300)", 300, 1)->is_causal());
}

// A node of somebody's own, whose text does not say which key it is.
class OneKey final : public pattern::Node {
 public:
  explicit OneKey(std::int64_t key) : key_(key) {}
  int multiplicity(const pattern::Context&, std::int64_t, std::int64_t key) const override { return key == key_; }
  int uniform(const pattern::Context&, const pattern::Range&, const pattern::Range& key) const override {
    return key.size() == 1 ? key.begin == key_ : pattern::kMixed;
  }
  std::uint64_t row_bits(const pattern::Context&, std::int64_t, std::int64_t first, int count) const override {
    return pattern::interval_bits(key_, key_, first, count);
  }
  void signature(const pattern::Context&, const pattern::Range&, const pattern::Range& key,
                 pattern::Signature& numbers) const override {
    numbers.push_back(key_ - key.begin);
  }
  pattern::EdgeKind edge_kind(const pattern::Context&, std::int64_t, std::int64_t) const override { return {}; }
  std::int64_t period(const pattern::Context&) const override { return 0; }
  void print(pattern::Printer& printer) const override { printer.text("one_key"); }

 private:
  std::int64_t key_;
};

TEST(Layout, NodesThatPrintAlikeShareNone) {
  pattern::Site site;
  site.query_length = site.key_length = 40;
  const auto layout = [&](const pattern::NodePtr& node) {
    return attention::cached_layout(pattern::Pattern(pattern::any_of({node, pattern::parse_node("ring(1)")})), site,
                                    {64, 64});
  };
  const pattern::NodePtr first = std::make_shared<OneKey>(3);
  const pattern::NodePtr second = std::make_shared<OneKey>(9);
  EXPECT_EQ(layout(first), layout(first));
  EXPECT_NE(layout(first), layout(second));
  EXPECT_NE(layout(first)->blocks().mask_bits, layout(second)->blocks().mask_bits);
  // Nor do two heads of one layout.
  site.heads = 2;
  const pattern::Pattern both(pattern::heads({{{}, first}, {{}, second}}));
  EXPECT_EQ(attention::cached_layout(both, site, {64, 64})->blocks().groups, 2);
  EXPECT_EQ(both.to_string(), "heads(one_key, one_key)");
}

// Its key is the layer's, of which its text says nothing.
class KeyOfTheLayer final : public pattern::Node {
 public:
  int multiplicity(const pattern::Context& context, std::int64_t, std::int64_t key) const override {
    return key == context.layer;
  }
  int uniform(const pattern::Context& context, const pattern::Range&, const pattern::Range& key) const override {
    return key.size() == 1 ? key.begin == context.layer : pattern::kMixed;
  }
  std::uint64_t row_bits(const pattern::Context& context, std::int64_t, std::int64_t first, int count) const override {
    return pattern::interval_bits(context.layer, context.layer, first, count);
  }
  void signature(const pattern::Context& context, const pattern::Range&, const pattern::Range& key,
                 pattern::Signature& numbers) const override {
    numbers.push_back(context.layer - key.begin);
  }
  pattern::EdgeKind edge_kind(const pattern::Context&, std::int64_t, std::int64_t) const override { return {}; }
  std::int64_t period(const pattern::Context&) const override { return 0; }
  void print(pattern::Printer& printer) const override { printer.text("key"); }
};

TEST(Layout, ANodeThatReadsTheLayerHasOneForEach) {
  const pattern::Pattern own(std::make_shared<KeyOfTheLayer>());
  pattern::Site site;
  site.query_length = site.key_length = 40;
  const auto first = attention::cached_layout(own, site, {64, 64});
  site.layer = 5;
  const auto sixth = attention::cached_layout(own, site, {64, 64});
  EXPECT_NE(first->blocks().mask_bits, sixth->blocks().mask_bits);
  EXPECT_EQ(attention::cached_layout(own, site, {64, 64}), sixth);
}

TEST(Layout, CausalNeedsEqualLengthsFromTheStart) {
  pattern::Site site;
  site.query_length = 10;
  site.key_length = 20;
  site.query_offset = 10;
  const auto layout = attention::cached_layout(pattern::Pattern::parse("causal"), site, {64, 64});
  EXPECT_FALSE(layout->is_causal());
  EXPECT_FALSE(layout->is_full());
}

TEST(LayoutCache, SharesWhatIsTheSame) {
  const auto find = [](const std::string& expression, std::int64_t length, std::int64_t layer,
                       std::vector<pattern::RowBinding> rows = {}) {
    pattern::Site site;
    site.query_length = site.key_length = length;
    site.layer = layer;
    return attention::cached_layout(pattern::Pattern::parse(expression), site, {64, 64}, rows);
  };
  const auto first = find("window(7)", 99, 0);
  EXPECT_EQ(first, find(" window( 7 ) ", 99, 5));
  EXPECT_NE(first, find("window(7)", 98, 0));
  EXPECT_NE(first, find("window(8)", 99, 0));
  EXPECT_NE(find("window(layer)", 99, 4), find("window(layer)", 99, 5));
  EXPECT_NE(find("bigbird(block=4)", 99, 4), find("bigbird(block=4)", 99, 5)) << "its seed is the layer";
  EXPECT_NE(find("global(input)", 99, 0, {{{3}, {}, {}}}), find("global(input)", 99, 0, {{{4}, {}, {}}}));
  EXPECT_EQ(find("global(input)", 99, 0, {{{3}, {}, {}}}), find("global(input)", 99, 0, {{{3}, {}, {}}}));
  for (std::int64_t length = 1; length <= 64; ++length) {
    find("window(9)", length, 0);
  }
  EXPECT_NE(first, find("window(7)", 99, 0)) << "64 others came since";
}

TEST(RowBatches, WindowsAreReadInPlace) {
  const auto layout = layout_of("causal & window(left=128, right=0)", 1024, 1);
  const auto& batches = layout->kept(attention::row_batches_of).groups[0];
  std::int64_t rows = 0;
  std::int64_t longest = 0;
  for (const auto& batch : batches) {
    EXPECT_TRUE(batch.uniform);
    rows += batch.rows();
    longest = std::max(longest, batch.rows());
  }
  EXPECT_EQ(rows, 16);
  EXPECT_EQ(longest, 14) << "all rows but the first two have three blocks and the same masks";
}

TEST(RowBatches, EveryRowWithBlocksIsInOneBatch) {
  for (const char* expression : {"strided(100)", "block(64, global(first=1, last=1) | window(3))", "!window(300)",
                                 "heads(window(50), stride(70))", "ring(5) & !causal"}) {
    const auto layout = layout_of(expression, 777, 2);
    const pattern::BlockLayout& blocks = layout->blocks();
    for (std::int64_t group = 0; group < blocks.groups; ++group) {
      std::vector<int> seen(static_cast<std::size_t>(blocks.query_blocks()), 0);
      for (const auto& batch : layout->kept(attention::row_batches_of).groups[static_cast<std::size_t>(group)]) {
        for (const std::int32_t row : batch.query_blocks) {
          const auto* begin = &blocks.row_begin[static_cast<std::size_t>(group * blocks.query_blocks() + row)];
          EXPECT_EQ(begin[1] - begin[0], batch.width);
          ++seen[static_cast<std::size_t>(row)];
        }
      }
      for (std::int64_t row = 0; row < blocks.query_blocks(); ++row) {
        const auto* begin = &blocks.row_begin[static_cast<std::size_t>(group * blocks.query_blocks() + row)];
        EXPECT_EQ(seen[static_cast<std::size_t>(row)], begin[1] > begin[0] ? 1 : 0) << expression << " row " << row;
      }
    }
  }
}

TEST(Pieces, CoverEveryRowOfEveryHeadAndStayInTheirBounds) {
  const auto layout = layout_of("heads(1 * window(100), 3 * (window(9) | global(2)))", 1000, 4);
  for (const bool split : {false, true}) {
    attention::PieceLimits limits;
    limits.batch = 2;
    limits.split_batches = split;
    limits.columns = 16;
    limits.elements = 20000;
    std::int64_t rows = 0;
    for (const attention::Piece& piece :
         attention::make_pieces(layout->blocks(), layout->kept(attention::row_batches_of), limits)) {
      rows += piece.count * piece.heads.count();
      const std::int64_t elements = piece.products() * piece.heads.count() * piece.key_tokens() * 16;
      EXPECT_TRUE(elements <= 20000 || (piece.products() == 1 && piece.heads.count() == 1));
      EXPECT_TRUE(!split || piece.heads.begin / 4 == (piece.heads.end - 1) / 4);
    }
    EXPECT_EQ(rows, 2 * 4 * 16);
  }
}

TEST(ThreadPool, RunsMoreThanOneChunk) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::atomic<int> chunks = 0;
  std::atomic<std::int64_t> items = 0;
  parallel_for(attention::kTorchThreads, 100, 1, [&](std::int64_t begin, std::int64_t end) {
    ++chunks;
    items += end - begin;
  });
  at::set_num_threads(before);
  EXPECT_GT(chunks, 1) << "built without OpenMP?";
  EXPECT_EQ(items, 100);
}

}  // namespace
}  // namespace weft::test
