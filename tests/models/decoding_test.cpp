// SPDX-License-Identifier: Apache-2.0
// Decoding from a cache gives what a forward pass over the whole text gives.
#include <gtest/gtest.h>

#include <c10/core/GradMode.h>

#include "models/small_model.h"
#include "support/expect_error.h"

namespace weft::models {
namespace {

using test::input_of;
using test::make_model;
using test::random_ids;
using test::small_config;

// float32 sums in another order, through two layers of values near 1
constexpr double kTolerance = 2e-4;

void expect_cache_equals_whole(const TransformerConfig& config, std::initializer_list<std::int64_t> pieces) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(config);
  std::int64_t length = 0;
  for (const std::int64_t piece : pieces) {
    length += piece;
  }
  const at::Tensor ids = random_ids(2, length);
  const at::Tensor whole = model->logits(input_of(ids));
  layers::DecodingCache cache;
  std::int64_t at = 0;
  for (const std::int64_t piece : pieces) {
    const at::Tensor logits = model->decode(ids.narrow(1, at, piece), cache);
    at += piece;
    EXPECT_EQ(cache.length(), at);
    const double difference = (logits - whole.select(1, at - 1)).abs().max().item<double>();
    EXPECT_LT(difference, kTolerance) << config.attention.front() << " after " << at << " tokens";
  }
}

TEST(Decoding, EqualsTheWholeForEveryPattern) {
  for (const std::string attention : {"full", "causal", "window(6)", "window(left=9)", "window(8, dilation=3)",
                                      "strided(5)", "strided(4, split=true)", "fixed(6, 2)", "fixed(6, 2, split=true)",
                                      "window(4) | global(2)", "heads(window(6), stride(3))", "!window(4)",
                                      "block(4, window(3))", "block(3, block(2, causal & window(3)) | global(1))",
                                      "window(3) | !block(5, window(left=1))", "heads(block(4, causal), stride(3))"}) {
    TransformerConfig config = small_config();
    config.attention = {attention};
    expect_cache_equals_whole(config, {5, 1, 1, 3, 1, 1, 1, 7, 1});
  }
}

TEST(Decoding, EqualsTheWholeForEveryKindOfModel) {
  for (const std::string position : {"rotary", "learned", "sinusoidal", "alibi"}) {
    for (const std::string norm : {"pre", "post"}) {
      TransformerConfig config = small_config();
      config.position_embedding = position;
      config.norm_position = norm;
      config.num_key_value_heads = 1;
      config.attention = {"window(6)", "strided(4)"};
      expect_cache_equals_whole(config, {1, 1, 4, 1, 6, 1});
    }
  }
}

TEST(Decoding, EqualsTheWholeOverManyBlocks) {
  TransformerConfig config = small_config();
  for (const std::string attention : {"strided(40)", "block(48, window(3))"}) {
    config.attention = {attention};
    expect_cache_equals_whole(config, {200, 1, 1, 55, 1, 1, 1});
  }
}

TEST(Decoding, ContinuesFromATruncatedCache) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(small_config());
  const at::Tensor ids = random_ids(1, 12);
  layers::DecodingCache cache;
  model->decode(ids, cache);
  cache.truncate(7);
  const at::Tensor again = model->decode(ids.narrow(1, 7, 5), cache);
  EXPECT_LT((again - model->logits(input_of(ids)).select(1, 11)).abs().max().item<double>(), kTolerance);
}

TEST(Decoding, RefusesEncodersAndTooManyLearnedPositions) {
  TransformerConfig config = small_config();
  config.is_decoder = false;
  layers::DecodingCache cache;
  test::expect_error(ErrorKind::kUnsupported, {"is_decoder"},
                     [&] { make_model(config)->decode(random_ids(1, 3), cache); });
  config.is_decoder = true;
  config.position_embedding = "learned";
  LanguageModel model = make_model(config);
  model->decode(random_ids(1, 60), cache);
  test::expect_error(ErrorKind::kArgument, {"learned", "65"}, [&] { model->decode(random_ids(1, 5), cache); });
  EXPECT_EQ(cache.length(), 60);
  EXPECT_NO_THROW(model->decode(random_ids(1, 4), cache));
}

}  // namespace
}  // namespace weft::models
