// SPDX-License-Identifier: Apache-2.0
// Rows in other tokens: whole, reproducible, and left alone where no draw is long enough.
#include "weft/data/resampled_rows.h"

#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

namespace weft::data {
namespace {

// Doubles each id below a number that the seed decides, or drops all but the first.
class FakeSampler final : public text::SubwordSampler {
 public:
  explicit FakeSampler(bool shortens) : shortens_(shortens) {}
  text::DrawnTokens draw(std::span<const std::int64_t> ids, std::uint64_t seed) const override {
    std::vector<std::int64_t> result;
    if (shortens_) {
      return {{ids.front()}, {}, {}};
    }
    for (const std::int64_t id : ids) {
      result.insert(result.end(), id < static_cast<std::int64_t>(seed % 5) ? 2 : 1, id);
    }
    return {result, {}, {}};
  }

 private:
  bool shortens_;
};

at::Tensor rows() { return at::arange(24, at::kLong).view({4, 6}).remainder(6); }

TEST(ResampledRows, AreCutAndDependOnStepPartAndRow) {
  const at::Tensor drawn = resampled_rows(rows(), FakeSampler(false), {1, 2, 3});
  EXPECT_EQ(drawn.sizes(), rows().sizes());
  EXPECT_TRUE(drawn.equal(resampled_rows(rows(), FakeSampler(false), {1, 2, 3})));
  std::int64_t different = 0;
  for (std::int64_t step = 0; step < 20; ++step) {
    different += drawn.equal(resampled_rows(rows(), FakeSampler(false), {1, step, 0})) ? 0 : 1;
  }
  EXPECT_GT(different, 10);
}

TEST(ResampledRows, ARowWithoutALongEnoughDrawStays) {
  EXPECT_TRUE(rows().equal(resampled_rows(rows(), FakeSampler(true), {1, 2, 3})));
}

TEST(ResampledRows, TheInputIsNotWrittenTo) {
  const at::Tensor before = rows();
  resampled_rows(before, FakeSampler(false), {4, 0, 0});
  EXPECT_TRUE(before.equal(rows()));
}

}  // namespace
}  // namespace weft::data
