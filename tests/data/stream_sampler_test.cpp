// SPDX-License-Identifier: Apache-2.0
// Streams: each row goes on where it ended, an epoch shows every stream once, and steps alone say where.
#include "weft/data/stream_sampler.h"

#include <ATen/ops/equal.h>

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::data {
namespace {

// Id = position.
class CountingStream final : public TokenSource {
 public:
  explicit CountingStream(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  void read(std::int64_t begin, std::span<std::int64_t> ids) const override {
    EXPECT_LE(begin + std::ssize(ids), size_);
    std::iota(ids.begin(), ids.end(), begin);
  }

 private:
  std::int64_t size_;
};

TEST(StreamSampler, RowsGoOnWhereTheyEnded) {
  const SamplerOptions options{.context = 7, .batch_size = 3, .parts = 2, .lookahead = 1, .seed = 5};
  const StreamSampler sampler(std::make_shared<CountingStream>(300), options);
  const std::int64_t epoch = sampler.segments_per_stream();
  EXPECT_EQ(epoch, 299 / 6 / 7);
  std::set<std::int64_t> starts;
  for (std::int64_t step = 0; step < 4 * epoch; ++step) {
    EXPECT_EQ(sampler.goes_on(step), step % epoch != 0);
    std::set<std::int64_t> shown;
    for (std::int64_t part = 0; part < 2; ++part) {
      const at::Tensor tokens = sampler.tokens(step, part);
      EXPECT_EQ(tokens.sizes(), at::IntArrayRef({3, 8}));
      for (std::int64_t row = 0; row < 3; ++row) {
        const auto first = tokens[row][0].item<std::int64_t>();
        EXPECT_TRUE(shown.insert(first).second) << "two rows read one stream";
        EXPECT_EQ(tokens[row][7].item<std::int64_t>(), first + 7);
        if (sampler.goes_on(step)) {
          EXPECT_EQ(first, sampler.segment(step - 1, part, row) + 7);
        }
      }
    }
    starts.insert(sampler.segment(step - step % epoch, 0, 0));
  }
  EXPECT_GT(starts.size(), 1U) << "epochs begin at other tokens";
  EXPECT_TRUE(
      at::equal(sampler.tokens(9, 1), StreamSampler(std::make_shared<CountingStream>(300), options).tokens(9, 1)));
}

TEST(StreamSampler, AnEpochShowsShortStreamsOnceInAnyOrder) {
  const SamplerOptions options{
      .context = 7, .batch_size = 2, .parts = 2, .lookahead = 1, .seed = 5, .stream = 24};  // 3 whole segments
  const StreamSampler sampler(std::make_shared<CountingStream>(300), options);
  EXPECT_EQ(sampler.segments_per_stream(), 3);
  EXPECT_EQ(sampler.streams(), 299 / 21);
  std::set<std::int64_t> firsts;
  std::vector<std::int64_t> order;
  for (std::int64_t step = 0; step < 3 * 3; ++step) {  // 14 streams are 3 turns of 4 rows
    EXPECT_EQ(sampler.goes_on(step), step % 3 != 0);
    for (std::int64_t row = 0; row < 4; ++row) {
      const std::int64_t first = sampler.segment(step, row / 2, row % 2);
      EXPECT_TRUE(firsts.insert(first).second) << "two rows read one segment";
      if (sampler.goes_on(step)) {
        EXPECT_EQ(first, sampler.segment(step - 1, row / 2, row % 2) + 7);
      } else {
        order.push_back(first);
      }
    }
  }
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  EXPECT_NE(sampler.segment(9, 0, 0), sampler.segment(0, 0, 0)) << "the next epoch has another order";
}

TEST(StreamSampler, NeedsASegmentForEachRow) {
  const auto make = [](std::int64_t size) {
    return StreamSampler(std::make_shared<CountingStream>(size), {.context = 10, .batch_size = 4, .parts = 1});
  };
  EXPECT_EQ(make(41).segments_per_stream(), 1);
  test::expect_error(ErrorKind::kArgument, {"4 rows", "4 times 10 + 1", "found 40"}, [&] { make(40); });
}

}  // namespace
}  // namespace weft::data
