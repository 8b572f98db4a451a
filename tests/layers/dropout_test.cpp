// SPDX-License-Identifier: Apache-2.0
// Dropout: rate, scale, seeds and independence of the number of threads.
#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>

#include <cmath>

#include "weft/layers/dropout.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kCount = 100'003;  // no multiple of the four elements of a draw

TEST(Dropout, DropsTheAskedShareAndScalesTheRest) {
  for (const double probability : {0.1, 0.5, 0.9}) {
    const at::Tensor y = seeded_dropout(at::ones({kCount}), probability, 3);
    const double dropped = y.eq(0).sum().item<double>() / kCount;
    // four standard deviations of a binomial share
    EXPECT_NEAR(dropped, probability, 4.0 * std::sqrt(probability * (1.0 - probability) / kCount));
    const at::Tensor kept = y.masked_select(y.ne(0));
    EXPECT_TRUE(kept.allclose(at::ones_like(kept) / (1.0 - probability), 1e-6, 0));
  }
}

TEST(Dropout, IsAPureFunctionOfTheSeed) {
  const at::Tensor x = at::randn({kCount});
  EXPECT_TRUE(seeded_dropout(x, 0.4, 5).equal(seeded_dropout(x, 0.4, 5)));
  EXPECT_FALSE(seeded_dropout(x, 0.4, 5).equal(seeded_dropout(x, 0.4, 6)));
  EXPECT_TRUE(seeded_dropout(x, 0.0, 5).is_same(x));
}

TEST(Dropout, DoesNotDependOnThreads) {
  const at::Tensor x = at::randn({kCount});
  const int threads = at::get_num_threads();
  const at::Tensor many = seeded_dropout(x, 0.4, 5);
  at::set_num_threads(1);
  const at::Tensor one = seeded_dropout(x, 0.4, 5);
  at::set_num_threads(threads);
  EXPECT_TRUE(many.equal(one));
}

TEST(Dropout, MasksAreEqualInEveryDtype) {
  const at::Tensor x = at::ones({1000});
  const at::Tensor zeros = seeded_dropout(x, 0.3, 9).eq(0);
  for (const at::ScalarType dtype : {at::kDouble, at::kBFloat16, at::kHalf}) {
    EXPECT_TRUE(seeded_dropout(x.to(dtype), 0.3, 9).eq(0).equal(zeros));
  }
}

TEST(Dropout, OfEverythingLeavesZeros) {
  EXPECT_TRUE(seeded_dropout(at::ones({1000}), 1.0, 9).eq(0).all().item<bool>());
}

TEST(Dropout, SeedsOfSitesDiffer) {
  EXPECT_NE(dropout_seed(1, 0, 0), dropout_seed(1, 0, 1));
  EXPECT_NE(dropout_seed(1, 0, 0), dropout_seed(1, 1, 0));
  EXPECT_NE(dropout_seed(1, 0, 0), dropout_seed(2, 0, 0));
}

}  // namespace
}  // namespace weft::layers
