// SPDX-License-Identifier: Apache-2.0
// The 80/10/10 rule in numbers, and that a batch depends on seed, step and part alone.
#include "weft/data/masking.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <torch/types.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"

namespace weft::data {
namespace {

const MaskingOptions kMasking{0.15, 256, 256, 11};

TEST(Masking, KeepsTheProportionsOfThePaper) {
  const at::Tensor tokens = at::full({64, 1000}, 300, at::kLong);  // an id that random draws cannot give
  const Batch batch = masked_batch(tokens, kMasking, 3, 0);
  EXPECT_TRUE(unmasked_ids(batch).equal(tokens));
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

// Words of four tokens: ids below 64 begin one.
at::Tensor words_of_four(std::int64_t rows, std::int64_t words) {
  const at::Tensor one = torch::tensor({10, 100, 101, 102}, at::kLong);
  return one.repeat({rows, words});
}

MaskingOptions word_masking(MaskedUnit unit, const std::vector<bool>& begins) {
  MaskingOptions options = kMasking;
  options.unit = unit;
  options.begins_word = std::make_shared<const std::vector<bool>>(begins);
  return options;
}

std::vector<bool> first_ids_begin() {
  std::vector<bool> begins(256, false);
  std::fill_n(begins.begin(), 64, true);
  return begins;
}

TEST(Masking, WholeWordsArePredictedWhole) {
  const std::vector<bool> begins = first_ids_begin();
  const Batch batch = masked_batch(words_of_four(64, 250), word_masking(MaskedUnit::kWords, begins), 0, 0);
  const at::Tensor predicted = (batch.labels != kIgnoredLabel).view({64, 250, 4}).sum(2);
  EXPECT_TRUE(((predicted == 0) | (predicted == 4)).all().item<bool>());
  // Of 16,000 words; a binomial deviation is 0.0028, and five are allowed.
  EXPECT_NEAR((predicted == 4).sum().item<double>() / 16000, 0.15, 0.014);
  // What is shown is drawn token by token: four masks with 0.8^4.
  const at::Tensor masks = (batch.input_ids == 256).view({64, 250, 4}).sum(2);
  EXPECT_NEAR((masks == 4).sum().item<double>() / (predicted == 4).sum().item<double>(), 0.4096, 0.05);
}

TEST(Masking, SpansAreRunsOfWordsWithinTheBudget) {
  const std::vector<bool> begins = first_ids_begin();
  const at::Tensor tokens = words_of_four(64, 250);
  const Batch batch = masked_batch(tokens, word_masking(MaskedUnit::kSpans, begins), 5, 1);
  const at::Tensor predicted = batch.labels != kIgnoredLabel;
  EXPECT_TRUE((predicted.sum(1) == 150).all().item<bool>());
  EXPECT_TRUE(at::equal(batch.labels.masked_select(predicted), tokens.masked_select(predicted)));
  std::int64_t spans = 0;
  std::int64_t mixed = 0;
  for (std::int64_t row = 0; row < 64; ++row) {
    for (std::int64_t i = 0; i < 1000; ++i) {
      const bool begin = predicted[row][i].item<bool>() && (i == 0 || !predicted[row][i - 1].item<bool>());
      spans += begin ? 1 : 0;
      if (begin) {
        EXPECT_EQ(i % 4, 0) << "a span begins with a word";
        bool masked = false;
        bool other = false;
        for (; i < 1000 && predicted[row][i].item<bool>(); ++i) {
          (batch.input_ids[row][i].item<std::int64_t>() == 256 ? masked : other) = true;
        }
        mixed += masked && other ? 1 : 0;
      }
    }
  }
  // SpanBERT's mean length is 3.8 words; neighbours that touch count as one, the last of a row may be cut.
  const double mean = 64.0 * 150 / 4 / static_cast<double>(spans);
  EXPECT_GT(mean, 3.3);
  EXPECT_LT(mean, 5.0);
  // Only spans that touch each other can differ within a run.
  EXPECT_LT(static_cast<double>(mixed) / static_cast<double>(spans), 0.15);
}

TEST(Masking, WordsNeedToKnowWhereTheyBegin) {
  const std::vector<bool> few(10, true);
  test::expect_error(ErrorKind::kArgument, {"words", "256", "found 10"},
                     [&] { masked_batch(words_of_four(1, 2), word_masking(MaskedUnit::kWords, few), 0, 0); });
  test::expect_error(ErrorKind::kArgument, {"'phrases'"}, [] { masked_unit("phrases"); });
}

TEST(Masking, AnEncoderHasOneIdMore) {
  const test::PairTokenizer pairs;
  EXPECT_EQ(model_vocabulary(pairs, true), pairs.vocabulary_size());
  EXPECT_EQ(model_vocabulary(pairs, false), pairs.vocabulary_size() + 1);
}

}  // namespace
}  // namespace weft::data
