// SPDX-License-Identifier: Apache-2.0
// Decoding behind a state gives what a forward pass over the whole text gives.
#include <gtest/gtest.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
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

void expect_state_equals_whole(const TransformerConfig& config, std::initializer_list<std::int64_t> pieces) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(config);
  std::int64_t length = 0;
  for (const std::int64_t piece : pieces) {
    length += piece;
  }
  const at::Tensor ids = random_ids(2, length);
  const at::Tensor whole = model->logits(input_of(ids));
  layers::DecodingState state = model->initial_state();
  std::int64_t at = 0;
  for (const std::int64_t piece : pieces) {
    const at::Tensor logits = model->decode(ids.narrow(1, at, piece), state);
    at += piece;
    EXPECT_EQ(state.length(), at);
    const double difference = (logits - whole.select(1, at - 1)).abs().max().item<double>();
    EXPECT_LT(difference, kTolerance) << config.attention.front() << " after " << at << " tokens";
  }
}

TEST(Decoding, EqualsTheWholeForEveryPattern) {
  for (const std::string attention : {"full",
                                      "causal",
                                      "window(6)",
                                      "window(left=9)",
                                      "window(8, dilation=3)",
                                      "strided(5)",
                                      "strided(4, split=true)",
                                      "fixed(6, 2)",
                                      "fixed(6, 2, split=true)",
                                      "window(4) | global(2)",
                                      "heads(window(6), stride(3))",
                                      "!window(4)",
                                      "block(4, window(3))",
                                      "block(3, block(2, causal & window(3)) | global(1))",
                                      "window(3) | !block(5, window(left=1))",
                                      "heads(block(4, causal), stride(3))",
                                      "linear",
                                      "linear(map=dpfp)",
                                      "performer(features=16)",
                                      "rfa(features=16)",
                                      "rfa(features=16, gate=yes)",
                                      "lsh(causal=rank, window=3, buckets=4)",
                                      "span(max=9, ramp=4, init=2)"}) {
    TransformerConfig config = small_config();
    config.attention = {attention};
    expect_state_equals_whole(config, {5, 1, 1, 3, 1, 1, 1, 7, 1});
  }
}

TEST(Decoding, EqualsTheWholeForEveryKindOfModel) {
  for (const std::string position : {"rotary", "learned", "sinusoidal", "alibi"}) {
    for (const std::string norm : {"pre", "post"}) {
      TransformerConfig config = small_config();
      config.position_embedding = position;
      config.norm_position = norm;
      config.num_key_value_heads = 1;
      config.attention = {"span(max=7, ramp=3)", "strided(4)"};
      expect_state_equals_whole(config, {1, 1, 4, 1, 6, 1});
      if (position != "alibi") {
        config.attention = {"linear", "window(6)"};
        expect_state_equals_whole(config, {1, 1, 4, 1, 6, 1});
        config.num_key_value_heads = 2;
        config.attention = {"lsh(causal=rank, window=5)", "window(6)"};
        expect_state_equals_whole(config, {1, 1, 4, 1, 6, 1});
      }
    }
  }
}

TEST(Decoding, EqualsTheWholeWherePositionsAreDistances) {
  for (const std::string attention : {"relative", "relative(left=6)", "relative(clamp=3, biases=shared)"}) {
    for (const std::string norm : {"pre", "post"}) {
      TransformerConfig config = small_config();
      config.position_embedding = "none";
      config.norm_position = norm;
      config.attention = {attention};
      expect_state_equals_whole(config, {5, 1, 1, 3, 1, 1, 1, 7, 1});
    }
  }
}

TEST(Decoding, EqualsTheWholeWhereSlopesAreLearned) {
  for (const std::string attention : {"full", "strided(4)", "heads(window(left=3), window(left=9))"}) {
    TransformerConfig config = small_config();
    config.position_embedding = "alibi";
    config.learned_slopes = true;
    config.num_key_value_heads = 1;
    config.attention = {attention, "span(max=7, ramp=3, init=2)"};
    expect_state_equals_whole(config, {5, 1, 1, 3, 1, 1, 1, 7, 1});
  }
}

// Several texts are multiplied by packed weights, one is not.
TEST(Decoding, OfSeveralTextsIsThatOfEach) {
  for (const std::string activation : {"gelu", "swiglu"}) {
    for (const bool is_tied : {false, true}) {
      TransformerConfig config = small_config();
      config.hidden_act = activation;
      config.tie_word_embeddings = is_tied;
      LanguageModel model = make_model(config);
      const at::Tensor ids = random_ids(5, 9);
      layers::DecodingState all = model->initial_state();
      const at::Tensor first = model->decode(ids.narrow(1, 0, 6), all);
      const at::Tensor last = model->decode(ids.narrow(1, 6, 3), all);
      for (std::int64_t row = 0; row < ids.size(0); ++row) {
        const at::Tensor text = ids.narrow(0, row, 1);
        layers::DecodingState one = model->initial_state();
        const at::Tensor its_first = model->decode(text.narrow(1, 0, 6), one);
        EXPECT_LT((its_first - first.narrow(0, row, 1)).abs().max().item<double>(), kTolerance) << activation;
        const at::Tensor its_last = model->decode(text.narrow(1, 6, 3), one);
        EXPECT_LT((its_last - last.narrow(0, row, 1)).abs().max().item<double>(), kTolerance) << activation;
      }
    }
  }
}

TEST(Decoding, EqualsTheWholeOverManyBlocks) {
  TransformerConfig config = small_config();
  for (const std::string attention : {"strided(40)", "block(48, window(3))", "linear", "lsh(causal=rank, window=17)"}) {
    config.attention = {attention};
    expect_state_equals_whole(config, {200, 1, 1, 55, 1, 1, 1});
  }
}

TEST(Decoding, ComputesTheWholeTextWhereALaterTokenChangesEarlierOnes) {
  const at::NoGradGuard without_gradients;
  TransformerConfig config = small_config();
  config.attention = {"block(4, window(left=1))", "lsh(causal=position, buckets=4, chunk=4)"};
  config.residual = "reversible";
  config.position_embedding = "axial";
  config.tie_word_embeddings = false;
  LanguageModel model = make_model(config);
  const at::Tensor ids = random_ids(2, 40);
  const auto last_of = [&](const at::Tensor& text) {
    return model->logits(input_of(text)).select(1, text.size(1) - 1);
  };
  layers::DecodingState state = model->initial_state();
  for (const std::int64_t piece : {1, 2, 1, 1, 13, 1, 1}) {
    const at::Tensor logits = model->decode(ids.narrow(1, state.length(), piece), state);
    // the same pass, but for the number of rows that the head multiplies
    EXPECT_LT((logits - last_of(ids.narrow(1, 0, state.length()))).abs().max().item<double>(), 1e-5);
  }
  EXPECT_GT((model->logits(input_of(ids.narrow(1, 0, 32))).select(1, 18) - last_of(ids.narrow(1, 0, 19)))
                .abs()
                .max()
                .item<double>(),
            1e-3)
      << "later tokens change earlier ones";
  layers::DecodingState loaded = model->initial_state();
  loaded.load(state.save());
  state.truncate(11);
  const at::Tensor rows = at::tensor({1, 1, 0}, at::kLong);
  state.reorder(rows);
  const at::Tensor other = ids.index_select(0, rows).narrow(1, 0, 14);
  EXPECT_LT((model->decode(other.narrow(1, 11, 3), state) - last_of(other)).abs().max().item<double>(), 1e-5);
  EXPECT_LT((model->decode(ids.narrow(1, 20, 4), loaded) - last_of(ids.narrow(1, 0, 24))).abs().max().item<double>(),
            1e-5);
}

TEST(Decoding, ContinuesFromATruncatedState) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(small_config());
  const at::Tensor ids = random_ids(1, 12);
  layers::DecodingState state = model->initial_state();
  model->decode(ids, state);
  state.truncate(7);
  const at::Tensor again = model->decode(ids.narrow(1, 7, 5), state);
  EXPECT_LT((again - model->logits(input_of(ids)).select(1, 11)).abs().max().item<double>(), kTolerance);
}

TEST(Decoding, RowsGoOnFromOthersAndSavedStatesFromFiles) {
  const at::NoGradGuard without_gradients;
  TransformerConfig config = small_config();
  config.attention = {"linear", "window(6)"};
  LanguageModel model = make_model(config);
  const at::Tensor ids = random_ids(3, 9);
  const at::Tensor rows = at::tensor({2, 0, 0}, at::kLong);
  layers::DecodingState state = model->initial_state();
  model->decode(ids, state);
  state.reorder(rows);
  layers::DecodingState loaded = model->initial_state();
  loaded.load(state.save());
  const at::Tensor more = random_ids(3, 2);
  const at::Tensor whole = model->logits(input_of(at::cat({ids.index_select(0, rows), more}, 1))).select(1, 10);
  EXPECT_LT((model->decode(more, state) - whole).abs().max().item<double>(), kTolerance);
  EXPECT_LT((model->decode(more, loaded) - whole).abs().max().item<double>(), kTolerance);
}

TEST(Decoding, SumsTakeNoMoreMemoryOfALongerText) {
  const at::NoGradGuard without_gradients;
  TransformerConfig config = small_config();
  config.attention = {"linear"};
  LanguageModel model = make_model(config);
  layers::DecodingState state = model->initial_state();
  model->decode(random_ids(1, 3), state);
  const std::size_t bytes = state.bytes();
  EXPECT_EQ(bytes, 2U * 2U * 8U * 9U * 4U) << "layers, heads, features, columns of values and one of ones, float32";
  model->decode(random_ids(1, 300), state);
  EXPECT_EQ(state.bytes(), bytes);
}

TEST(Decoding, RefusesEncodersAndTooManyLearnedPositions) {
  TransformerConfig config = small_config();
  config.is_decoder = false;
  LanguageModel encoder = make_model(config);
  layers::DecodingState none = encoder->initial_state();
  test::expect_error(ErrorKind::kUnsupported, {"is_decoder"}, [&] { encoder->decode(random_ids(1, 3), none); });
  config.is_decoder = true;
  config.position_embedding = "learned";
  LanguageModel model = make_model(config);
  layers::DecodingState state = model->initial_state();
  model->decode(random_ids(1, 60), state);
  test::expect_error(ErrorKind::kArgument, {"learned", "65"}, [&] { model->decode(random_ids(1, 5), state); });
  EXPECT_EQ(state.length(), 60);
  EXPECT_NO_THROW(model->decode(random_ids(1, 4), state));
  config.attention = {"linear"};
  layers::DecodingState other = make_model(config)->initial_state();
  test::expect_error(ErrorKind::kArgument, {"another mechanism"}, [&] { model->decode(random_ids(1, 4), other); });
}

}  // namespace
}  // namespace weft::models
