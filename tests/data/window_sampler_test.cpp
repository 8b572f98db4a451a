// SPDX-License-Identifier: Apache-2.0
// Windows: pure in (seed, step, part, row), each once an epoch, every token at every position sooner or later.
#include "weft/data/window_sampler.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>

#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::data {
namespace {

// Id = position.
class Counting final : public TokenSource {
 public:
  explicit Counting(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  void read(std::int64_t begin, std::span<std::int64_t> ids) const override {
    std::iota(ids.begin(), ids.end(), begin);
  }

 private:
  std::int64_t size_;
};

WindowSampler sampler_of(std::int64_t size, const SamplerOptions& options) {
  return {std::make_shared<Counting>(size), options};
}

TEST(Permutation, IsABijectionOfAnySize) {
  for (const std::uint64_t count : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t index = 0; index < count; ++index) {
      seen.insert(permuted(index, count, 42));
    }
    EXPECT_EQ(seen.size(), count);
    EXPECT_LT(*seen.rbegin(), count);
  }
  EXPECT_NE(permuted(0, 1000, 1), permuted(0, 1000, 2));
}

TEST(WindowSampler, IsAPureFunctionOfItsArguments) {
  const SamplerOptions options{16, 4, 2, 1, 7};
  const WindowSampler one = sampler_of(5000, options);
  const WindowSampler other = sampler_of(5000, options);
  for (const std::int64_t step : {0, 900, 3, 12345, 3}) {
    EXPECT_TRUE(at::equal(one.tokens(step, 1), other.tokens(step, 1)));
  }
  EXPECT_FALSE(at::equal(one.tokens(0, 0), one.tokens(0, 1)));
  EXPECT_FALSE(at::equal(one.tokens(0, 0), one.tokens(1, 0)));
  EXPECT_FALSE(at::equal(one.tokens(0, 0), sampler_of(5000, {16, 4, 2, 1, 8}).tokens(0, 0)));
}

TEST(WindowSampler, AnEpochShowsNoTokenTwice) {
  const WindowSampler sampler = sampler_of(1000, {16, 1, 1, 1, 3});
  EXPECT_EQ(sampler.windows_per_epoch(), 61);  // 62 fit, one is left as room for the start
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    std::set<std::int64_t> seen;
    for (std::int64_t step = 0; step < 61; ++step) {
      const at::Tensor row = sampler.tokens(epoch * 61 + step, 0)[0];
      for (std::int64_t i = 0; i < 16; ++i) {
        ASSERT_TRUE(seen.insert(row[i].item<std::int64_t>()).second);
      }
      ASSERT_LT(row[16].item<std::int64_t>(), 1000);
    }
  }
}

TEST(WindowSampler, CoversEveryTokenAndPosition) {
  const WindowSampler sampler = sampler_of(50, {8, 2, 1, 1, 5});
  std::set<std::pair<std::int64_t, std::int64_t>> seen;  // (token, position in its window)
  for (std::int64_t step = 0; step < 3000; ++step) {
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t i = 0; i < 8; ++i) {
        seen.insert({sampler.window(step, 0, row) + i, i});
      }
    }
  }
  // Windows start at 0 .. 41: 42 starts of 8 tokens.
  EXPECT_EQ(seen.size(), 42U * 8U);
}

TEST(WindowSampler, TakesTheShortestTextThatHoldsAWindow) {
  EXPECT_EQ(sampler_of(9, {8, 1, 1, 1, 0}).window(77, 0, 0), 0);
  EXPECT_EQ(sampler_of(8, {8, 1, 1, 0, 0}).tokens(0, 0).size(1), 8);
  test::expect_error(ErrorKind::kArgument, {"context", "8 + 1", "found 8"}, [] { sampler_of(8, {8, 1, 1, 1, 0}); });
  test::expect_error(ErrorKind::kArgument, {"context"}, [] { sampler_of(8, {0, 1, 1, 1, 0}); });
}

TEST(WindowSampler, CausalLabelsAreTheNextTokens) {
  const Batch batch = causal_batch(sampler_of(100, {10, 3, 1, 1, 0}).tokens(0, 0));
  EXPECT_TRUE(at::equal(batch.input_ids + 1, batch.labels));
  EXPECT_EQ(batch.labels.sizes(), (std::vector<std::int64_t>{3, 10}));
}

// The walk of a permutation never ends for a place outside of it, and products of huge settings wrap around.
TEST(WindowSampler, WhatCannotBeCountedIsRefused) {
  test::expect_error(ErrorKind::kArgument, {"of 5", "found 5"}, [] { permuted(5, 5, 1); });
  test::expect_error(ErrorKind::kArgument, {"of 0"}, [] { permuted(0, 0, 1); });
  const auto sampler = [](std::int64_t batch_size, std::int64_t parts) {
    return sampler_of(100, {10, batch_size, parts, 1, 0});
  };
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  test::expect_error(ErrorKind::kArgument, {"batch_size 2", "9223372036854775807"}, [&] { sampler(2, kHuge); });
  test::expect_error(ErrorKind::kArgument, {"a step must be"}, [&] { sampler(2, 1).window(kHuge, 0, 0); });
  test::expect_error(ErrorKind::kArgument, {"a step must be"}, [&] { sampler(2, 1).window(-1, 0, 0); });
  EXPECT_GE(sampler(1 << 20, 1 << 11).window((std::int64_t{1} << 31) - 1, (1 << 11) - 1, (1 << 20) - 1), 0);
}

}  // namespace
}  // namespace weft::data
