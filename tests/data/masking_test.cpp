// SPDX-License-Identifier: Apache-2.0
// The 80/10/10 rule in numbers, and that a batch depends on seed, step and part alone.
#include "weft/data/masking.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"

namespace weft::data {
namespace {

constexpr MaskingOptions kMasking{0.15, 256, 256, 11};

TEST(Masking, KeepsTheProportionsOfThePaper) {
  const at::Tensor tokens = at::full({64, 1000}, 300, at::kLong);  // an id that random draws cannot give
  const Batch batch = masked_batch(tokens, kMasking, 3, 0);
  const at::Tensor predicted = batch.labels != kIgnoredLabel;
  const double count = predicted.sum().item<double>();
  // Binomial deviations: 0.0014 of 64,000 positions, and about 0.004 of 9,600 predicted ones; five of them are allowed.
  EXPECT_NEAR(count / 64000, 0.15, 0.007);
  const auto part = [&](const at::Tensor& which) { return (which & predicted).sum().item<double>() / count; };
  EXPECT_NEAR(part(batch.input_ids == 256), 0.8, 0.021);
  EXPECT_NEAR(part(batch.input_ids < 256), 0.1, 0.016);
  EXPECT_NEAR(part(batch.input_ids == 300), 0.1, 0.016);
  EXPECT_TRUE((batch.labels.masked_select(predicted) == 300).all().item<bool>());
  EXPECT_TRUE((batch.input_ids.masked_select(~predicted) == 300).all().item<bool>());
}

TEST(Masking, IsAPureFunctionOfSeedStepAndPart) {
  const at::Tensor tokens = at::full({4, 100}, 65, at::kLong);
  const auto labels = [&](std::int64_t step, std::int64_t part, std::uint64_t seed) {
    MaskingOptions options = kMasking;
    options.seed = seed;
    return masked_batch(tokens, options, step, part).labels;
  };
  EXPECT_TRUE(at::equal(labels(5, 1, 2), labels(5, 1, 2)));
  EXPECT_FALSE(at::equal(labels(5, 1, 2), labels(6, 1, 2)));
  EXPECT_FALSE(at::equal(labels(5, 1, 2), labels(5, 0, 2)));
  EXPECT_FALSE(at::equal(labels(5, 1, 2), labels(5, 1, 3)));
  EXPECT_TRUE((tokens == 65).all().item<bool>());
}

TEST(Masking, EveryRowPredictsSomething) {
  MaskingOptions rare = kMasking;
  rare.probability = 1e-6;
  const Batch batch = masked_batch(at::full({50, 7}, 65, at::kLong), rare, 0, 0);
  EXPECT_TRUE(((batch.labels != kIgnoredLabel).sum(1) == 1).all().item<bool>());
  test::expect_error(ErrorKind::kArgument, {"vocabulary"}, [&] { masked_batch(batch.input_ids, {}, 0, 0); });
}

TEST(Masking, AnEncoderHasOneIdMore) {
  const test::PairTokenizer pairs;
  EXPECT_EQ(model_vocabulary(pairs, true), pairs.vocabulary_size());
  EXPECT_EQ(model_vocabulary(pairs, false), pairs.vocabulary_size() + 1);
}

}  // namespace
}  // namespace weft::data
