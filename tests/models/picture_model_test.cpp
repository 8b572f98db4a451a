// SPDX-License-Identifier: Apache-2.0
// A Sparse Transformer over pictures: its first weights, a decoder that gives what the whole picture gives, and configs
// that do not fit together.
#include <cmath>
#include <functional>
#include <string>

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/torch_fixture.h"
#include "weft/layers/activation.h"
#include "weft/layers/decoding_state.h"
#include "weft/models/language_model.h"

namespace weft::models {
namespace {

TransformerConfig picture_config() {
  TransformerConfig config;
  config.vocab_size = 257;
  config.hidden_size = 64;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.picture_shape = {3, 4, 3};
  config.max_position_embeddings = 36;
  config.position_embedding = "picture";
  config.hidden_act = "quick_gelu";
  config.initialization = "fan_in";
  config.tie_word_embeddings = false;
  config.attention = {"heads(causal & window(left=11), causal & stride(12))"};
  return config;
}

at::Tensor picture_ids(std::int64_t rows, std::int64_t length) {
  return at::cat({at::full({rows, 1}, 256, at::kLong), at::randint(0, 256, {rows, length - 1}, at::kLong)}, 1);
}

// Child et al. 2019, section 6: 0.125 / sqrt(inputs), over sqrt(2 layers) where the residual is written; logits 0.
TEST(PictureModel, BeginsWithTheWeightsOfSparseTransformers) {
  torch::manual_seed(1);
  const LanguageModel model(picture_config());
  const double depth = std::sqrt(2.0 * 2);
  const auto deviation = [&](const std::string& name) { return model->named_parameters()[name].std().item<double>(); };
  EXPECT_NEAR(deviation("layers.0.attention.qkv.weight") / (0.125 / 8), 1.0, 0.05);
  EXPECT_NEAR(deviation("layers.1.attention.output.weight") / (0.125 / 8 / depth), 1.0, 0.05);
  EXPECT_NEAR(deviation("layers.1.feed_forward.up.weight") / (0.125 / 8), 1.0, 0.05);
  EXPECT_NEAR(deviation("layers.0.feed_forward.down.weight") / (0.125 / 16 / depth), 1.0, 0.05);
  EXPECT_NEAR(deviation("embeddings.tokens") / (0.125 / 8), 1.0, 0.05);
  EXPECT_NEAR(deviation("embeddings.picture_positions.columns") / (0.125 / std::sqrt(64.0 * 3)), 1.0, 0.2);
  EXPECT_EQ(deviation("head.weight"), 0.0);
  // Every byte is equally likely before the first step.
  const at::Tensor ids = picture_ids(2, 36);
  EXPECT_NEAR(LanguageModel(model)->loss({ids, {}, {}, {}, {}}, ids).item<double>(), std::log(257.0), 1e-5);
}

TEST(PictureModel, DecodesAsItReads) {
  torch::manual_seed(2);
  LanguageModel model(picture_config());
  {
    const at::NoGradGuard without_gradients;
    for (const at::Tensor& parameter : model->parameters()) {
      parameter.normal_(0.0, 0.3);
    }
  }
  model->eval();
  const at::Tensor ids = picture_ids(2, 36);
  const at::NoGradGuard without_gradients;
  const at::Tensor whole = model->logits({ids, {}, {}, {}, {}});
  layers::DecodingState state = model->initial_state();
  for (const auto& [begin, count] : {std::pair(0, 17), {17, 1}, {18, 1}, {19, 16}, {35, 1}}) {
    const at::Tensor last = model->decode(ids.narrow(1, begin, count), state);
    EXPECT_LT(test::largest_difference(last, whole.select(1, begin + count - 1)), 1e-4) << begin;
  }
  test::expect_error(ErrorKind::kArgument, {"36 tokens", "37"}, [&] { model->decode(ids.narrow(1, 0, 1), state); });
}

// Texts and sound have two tables, of rows and columns of the stride.
TEST(PictureModel, TextHasRowsAndColumnsOfItsStride) {
  TransformerConfig config = picture_config();
  config.picture_shape.clear();
  config.position_embedding = "stride";
  config.position_stride = 8;
  config.max_position_embeddings = 35;
  config.attention = {"strided(8)"};
  torch::manual_seed(3);
  LanguageModel model(config);
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters["embeddings.stride_positions.rows"].sizes(), at::IntArrayRef({5, 64}));
  EXPECT_EQ(parameters["embeddings.stride_positions.columns"].sizes(), at::IntArrayRef({8, 64}));
  EXPECT_NEAR(parameters["embeddings.stride_positions.columns"].std().item<double>() / (0.125 / std::sqrt(64.0 * 2)),
              1.0, 0.2);
  EXPECT_EQ(position_limit(config), 35);
  const at::NoGradGuard without_gradients;
  for (const at::Tensor& parameter : model->parameters()) {
    parameter.normal_(0.0, 0.3);
  }
  model->eval();
  const at::Tensor ids = at::randint(0, 256, {2, 35}, at::kLong);
  const at::Tensor whole = model->logits({ids, {}, {}, {}, {}});
  layers::DecodingState state = model->initial_state();
  for (const auto& [begin, count] : {std::pair(0, 7), {7, 1}, {8, 1}, {9, 25}, {34, 1}}) {
    const at::Tensor last = model->decode(ids.narrow(1, begin, count), state);
    EXPECT_LT(test::largest_difference(last, whole.select(1, begin + count - 1)), 1e-4) << begin;
  }
  test::expect_error(ErrorKind::kArgument, {"35 tokens", "36"}, [&] { model->decode(ids.narrow(1, 0, 1), state); });
  config.position_stride = 0;  // 5 rows of 8 are the rectangle nearest to a square
  EXPECT_EQ(LanguageModel(config)->named_parameters()["embeddings.stride_positions.rows"].size(0), 5);
}

TEST(PictureModel, QuickGeluIsItsEquation) {
  const at::Tensor x = at::randn({50}, at::kDouble);
  EXPECT_LT(test::largest_difference(layers::activate(x, layers::parse_activation("quick_gelu")),
                                     x / (1 + (-1.702 * x).exp())),
            1e-12);
}

TEST(PictureModel, FieldsFitTogether) {
  validate(picture_config(), "config");
  const auto refused = [](std::initializer_list<std::string_view> words,
                          const std::function<void(TransformerConfig&)>& change) {
    TransformerConfig config = picture_config();
    change(config);
    test::expect_error(ErrorKind::kArgument, words, [&] { validate(config, "config"); });
  };
  refused({"picture_shape", "'3 x 4'"}, [](TransformerConfig& c) { c.picture_shape = {3, 4}; });
  refused({"picture_shape", "'3 x 0 x 3'"}, [](TransformerConfig& c) { c.picture_shape = {3, 0, 3}; });
  refused({"picture_shape", "at most 67108864"},
          [](TransformerConfig& c) { c.picture_shape = {std::int64_t{1} << 62, std::int64_t{1} << 62, 3}; });
  refused({"picture_shape is empty"}, [](TransformerConfig& c) { c.picture_shape.clear(); });
  refused({"257", "256"}, [](TransformerConfig& c) { c.vocab_size = 256; });
  refused({"max_position_embeddings", "36 bytes", "37"}, [](TransformerConfig& c) { c.max_position_embeddings = 37; });
  refused({"is_decoder false"}, [](TransformerConfig& c) { c.is_decoder = false; });
  refused({"tie_word_embeddings"}, [](TransformerConfig& c) { c.tie_word_embeddings = true; });
}

}  // namespace
}  // namespace weft::models
