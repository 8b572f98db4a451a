// SPDX-License-Identifier: Apache-2.0
// The first hidden states: positions, types, padding.
#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include "support/torch_fixture.h"
#include "weft/layers/embeddings.h"

namespace weft::layers {
namespace {

EmbeddingsConfig encoder_config() {
  EmbeddingsConfig config;
  config.vocab_size = 9;
  config.hidden_size = 4;
  config.maximum_length = 8;
  config.positions = PositionKind::kLearned;
  config.token_types = 2;
  config.padding_id = 1;
  return config;
}

Embeddings filled(const EmbeddingsConfig& config) {
  torch::manual_seed(2);
  Embeddings embeddings(config, at::TensorOptions(at::kFloat));
  const at::NoGradGuard without_gradients;
  for (const at::Tensor& parameter : embeddings->parameters()) {
    parameter.normal_();
  }
  embeddings->eval();
  return embeddings;
}

EmbeddingsInput input_of(const at::Tensor& ids, const at::Tensor& types = {}) {
  return {.ids = ids, .first_position = 0, .seed = 4, .token_types = types};
}

at::Tensor ids() { return at::tensor({5, 1, 7, 8, 1, 1}, at::kLong).view({2, 3}); }

TEST(EncoderEmbeddings, AddTokensTypesAndPositions) {
  Embeddings embeddings = filled(encoder_config());
  const at::Tensor types = at::tensor({0, 1, 1, 0, 0, 1}, at::kLong).view({2, 3});
  const at::Tensor sum = embeddings->tokens.index_select(0, ids().flatten()).view({2, 3, 4}) +
                         embeddings->token_types.index_select(0, types.flatten()).view({2, 3, 4}) +
                         embeddings->positions.narrow(0, 0, 3);
  EXPECT_LT(test::largest_difference(embeddings(input_of(ids(), types)), sum), 1e-6);
  // Without types every token is of type 0.
  EXPECT_TRUE(embeddings(input_of(ids())).equal(embeddings(input_of(ids(), at::zeros_like(types)))));
}

TEST(EncoderEmbeddings, ScaleTheTokensAlone) {
  EmbeddingsConfig config = encoder_config();
  Embeddings plain = filled(config);
  config.token_scale = 2.0;
  const at::Tensor difference = filled(config)(input_of(ids())) - plain(input_of(ids()));
  EXPECT_LT(test::largest_difference(difference, plain->tokens.index_select(0, ids().flatten()).view({2, 3, 4})), 1e-6);
}

TEST(EncoderEmbeddings, CountPositionsBesidePadding) {
  const at::Tensor positions = positions_without_padding(ids(), 1);
  EXPECT_TRUE(positions.equal(at::tensor({2, 1, 3, 2, 1, 1}, at::kLong).view({2, 3})));
  EmbeddingsConfig config = encoder_config();
  config.skip_padding = true;
  Embeddings embeddings = filled(config);
  const at::Tensor bare = filled(encoder_config())(input_of(ids())) - embeddings->positions.narrow(0, 0, 3);
  const at::Tensor expected = bare + embeddings->positions.index_select(0, positions.flatten()).view({2, 3, 4});
  EXPECT_LT(test::largest_difference(embeddings(input_of(ids())), expected), 1e-6);
}

TEST(EncoderEmbeddings, PaddingHasNoGradient) {
  EmbeddingsConfig config = encoder_config();
  config.skip_padding = true;
  Embeddings embeddings = filled(config);
  embeddings(input_of(ids())).sum().backward();
  EXPECT_EQ(embeddings->tokens.grad()[1].abs().sum().item<float>(), 0.0F);
  EXPECT_EQ(embeddings->positions.grad()[1].abs().sum().item<float>(), 0.0F);
  EXPECT_EQ(embeddings->tokens.grad()[5].sum().item<float>(), 4.0F);
}

// BigBird drops before the norm, so that what was dropped is no zero behind it.
TEST(EncoderEmbeddings, DropBeforeOrBehindTheNorm) {
  EmbeddingsConfig config = encoder_config();
  config.norm = NormConfig{};
  config.dropout = 0.5;
  Embeddings behind = filled(config);
  behind->train();
  EXPECT_GT(behind(input_of(ids())).eq(0).sum().item<std::int64_t>(), 0);
  config.dropout_before_norm = true;
  Embeddings before = filled(config);
  before->train();
  EXPECT_EQ(before(input_of(ids())).eq(0).sum().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace weft::layers
