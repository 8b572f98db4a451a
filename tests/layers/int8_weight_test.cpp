// SPDX-License-Identifier: Apache-2.0
// Linear layers that keep int8 against products of the numbers that their codes stand for.
#include "weft/layers/inference/int8_weight.h"

#include <gtest/gtest.h>

#include <ATen/ops/amax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include <limits>
#include <memory>
#include <utility>

#include "support/torch_fixture.h"
#include "weft/core/error.h"
#include "weft/layers/embeddings.h"
#include "weft/layers/feed_forward.h"
#include "weft/layers/linear.h"
#include "weft/layers/linear_cross_entropy.h"

namespace weft::layers {
namespace {

class Int8Linear : public ::testing::Test {
 protected:
  Int8Linear() {
    torch::manual_seed(5);
    for (const at::Tensor& parameter : linear_->parameters()) {
      parameter.data().normal_();
    }
    weight_ = linear_->floating().detach().clone();
    bias_ = linear_->named_parameters()["bias"].detach();
    linear_->eval();
    keep_int8(*linear_);
  }

  /// x as its codes stand for it.
  static at::Tensor rounded(const at::Tensor& x) {
    const at::Tensor most = x.abs().amax(-1, true);
    return x.mul(at::full_like(most, 127) / most).round().mul(most / 127);
  }

  Linear linear_{24, 64, true, at::TensorOptions(at::kFloat)};
  at::Tensor weight_;
  at::Tensor bias_;
  at::NoGradGuard without_gradients_;
};

TEST_F(Int8Linear, CodesAreWithinHalfAScale) {
  const at::Tensor numbers = linear_->rows().weight();
  const at::Tensor scale = weight_.abs().amax(1, true) / 127;
  EXPECT_LT((numbers - weight_).abs().div(scale).max().item<double>(), 0.5001);
}

TEST_F(Int8Linear, ProductsAreThoseOfTheNumbers) {
  const at::Tensor numbers = linear_->rows().weight();
  for (const at::Tensor& x : {at::randn({3, 30, 24}), at::randn({24}), at::randn({0, 24})}) {
    const at::Tensor expected = apply_linear(x.numel() > 0 ? rounded(x) : x, numbers, bias_);
    EXPECT_EQ(linear_(x).sizes(), expected.sizes());
    if (x.numel() == 0) {
      continue;
    }
    // Sums of 24 products of numbers up to 4, in another order.
    EXPECT_LT(test::largest_difference(linear_(x), expected), 1e-4);
    for (const Activation activation : {Activation::kGelu, Activation::kGeluNew, Activation::kQuickGelu,
                                        Activation::kSilu, Activation::kSwiglu, Activation::kGeglu}) {
      EXPECT_LT(test::largest_difference(linear_->activated(x, activation), activate(expected, activation)), 2e-3);
    }
  }
}

TEST_F(Int8Linear, SomeOutputsAreThoseOfAll) {
  const at::Tensor x = at::randn({5, 24});
  const at::Tensor all = linear_(x);
  for (const auto& [begin, count] : {std::pair<std::int64_t, std::int64_t>{16, 48}, {5, 20}, {0, 64}, {63, 1}}) {
    EXPECT_LT(test::largest_difference(linear_->rows(begin, count)(x), all.narrow(-1, begin, count)), 1e-5);
    EXPECT_TRUE(linear_->rows(begin, count).weight().equal(linear_->rows().weight().narrow(0, begin, count)));
  }
}

TEST_F(Int8Linear, ItsWeightIsNoParameter) {
  EXPECT_EQ(linear_->parameters().size(), 1U);
  FeedForward layer(BlockConfig{.hidden_size = 16, .intermediate_size = 32}, at::TensorOptions(at::kFloat));
  for (const at::Tensor& parameter : layer->parameters()) {
    parameter.normal_();
  }
  layer->eval();
  const at::Tensor x = at::randn({4, 16});
  const at::Tensor before = layer(x);
  keep_int8(*layer);
  keep_int8(*layer);  // nothing is left to do
  EXPECT_LT(test::largest_difference(layer(x), before), 0.05 * before.abs().max().item<double>());
}

TEST_F(Int8Linear, CodesAndScalesGiveTheSameBits) {
  const Int8Weight one(weight_, "weight");
  const Int8Weight other(one.codes(), one.scales(), "weight");
  const at::Tensor x = at::randn({7, 24});
  EXPECT_TRUE(other.codes().equal(one.codes()));
  EXPECT_TRUE(other.multiply(x, bias_, {}).equal(one.multiply(x, bias_, {})));
}

TEST_F(Int8Linear, RowsAreAnEmbedding) {
  const Int8Weight table(weight_, "table");
  const at::Tensor ids = at::randint(64, {3, 7}, at::TensorOptions(at::kLong));
  const at::Tensor expected = table.numbers(0, 64).index_select(0, ids.flatten()).view({3, 7, 24});
  EXPECT_TRUE(table.rows(ids, at::kFloat).equal(expected));
  EXPECT_TRUE(table.rows(ids, at::kBFloat16).equal(expected.to(at::kBFloat16)));
  EXPECT_EQ(table.rows(ids.narrow(1, 0, 0), at::kFloat).sizes(), at::IntArrayRef({3, 0, 24}));
}

TEST_F(Int8Linear, EmbeddingsGiveTheRowsOfTheirCodes) {
  Embeddings embeddings(EmbeddingsConfig{.vocab_size = 30, .hidden_size = 24}, at::TensorOptions(at::kFloat));
  embeddings->tokens.normal_();
  embeddings->eval();
  const Int8Weight table(embeddings->tokens, "tokens");
  keep_int8(*embeddings);
  EXPECT_TRUE(embeddings->table().int8 && !embeddings->tokens.defined() && embeddings->parameters().empty());
  EXPECT_TRUE(holds_int8(*embeddings));
  const at::Tensor ids = at::randint(30, {2, 5}, at::TensorOptions(at::kLong));
  EXPECT_TRUE(embeddings(EmbeddingsInput{.ids = ids}).equal(table.rows(ids, at::kFloat)));
}

TEST_F(Int8Linear, LossesAreThoseOfTheScores) {
  const auto table = std::make_shared<const Int8Weight>(weight_, "head");
  const HeadWeights head{{}, bias_, table};
  const at::Tensor hidden = at::randn({9, 24});
  at::Tensor labels = at::randint(64, {9}, at::TensorOptions(at::kLong));
  labels[4] = kIgnoredLabel;
  const at::Tensor logits = table->multiply(hidden, bias_, {});
  const at::Tensor expected = at::cross_entropy_loss(logits, labels);
  EXPECT_NEAR(linear_cross_entropy(hidden, head, labels, 2).item<double>(), expected.item<double>(), 1e-5);
  EXPECT_EQ(linear_cross_entropy_each(hidden, head, labels, 0).nats[4].item<double>(), 0.0);
  EXPECT_THROW(linear_cross_entropy(hidden, head, labels, 0, 0.1), Error);
  const at::AutoGradMode with_gradients(true);
  EXPECT_THROW(linear_cross_entropy(hidden.clone().requires_grad_(), head, labels, 0), Error);
}

TEST_F(Int8Linear, AnotherModelSharesTheCodes) {
  Linear other(24, 64, true, at::TensorOptions(at::kFloat));
  other->named_parameters()["bias"].copy_(bias_);
  share_int8(*linear_, *other);
  EXPECT_EQ(other->kept(), linear_->kept());
  const at::Tensor x = at::randn({3, 24});
  EXPECT_TRUE(other(x).equal(linear_(x)));
}

TEST_F(Int8Linear, WrongNumbersAreNamed) {
  at::Tensor weight = weight_.clone();
  weight[3][4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(Int8Weight(weight, "up.weight"), Error);
  const Int8Weight right(weight_, "weight");
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    at::Tensor scales = right.scales().clone();
    scales[2] = wrong;
    EXPECT_THROW(Int8Weight(right.codes(), scales, "up.weight"), Error);
  }
  at::Tensor codes = right.codes();
  codes[0][0] = -128;
  EXPECT_THROW(Int8Weight(codes, right.scales(), "up.weight"), Error);
}

TEST_F(Int8Linear, GradientsAreRefused) {
  const at::AutoGradMode with_gradients(true);
  const at::Tensor x = at::randn({2, 24}).requires_grad_();
  EXPECT_THROW(linear_(x), Error);
}

}  // namespace
}  // namespace weft::layers
