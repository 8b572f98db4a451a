// SPDX-License-Identifier: Apache-2.0
// Streams: each row goes on where it ended, an epoch shows every stream once, and steps alone say where.
#include "weft/data/stream_sampler.h"

#include <ATen/ops/equal.h>

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
  const std::int64_t epoch = sampler.segments_per_epoch();
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

TEST(StreamSampler, NeedsASegmentForEachRow) {
  const auto make = [](std::int64_t size) {
    return StreamSampler(std::make_shared<CountingStream>(size), {.context = 10, .batch_size = 4, .parts = 1});
  };
  EXPECT_EQ(make(41).segments_per_epoch(), 1);
  test::expect_error(ErrorKind::kArgument, {"4 rows", "4 times 10 + 1", "found 40"}, [&] { make(40); });
}

}  // namespace
}  // namespace weft::data
