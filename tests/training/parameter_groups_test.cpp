// SPDX-License-Identifier: Apache-2.0
// Which parameters decay, how fast their layers learn, and what is frozen.
#include "weft/training/optimizers/parameter_groups.h"

#include <torch/types.h>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::training {
namespace {

at::Tensor trained(at::IntArrayRef shape) { return torch::ones(shape).requires_grad_(); }

NamedTensors small_model() {
  return {{"embeddings.word_embeddings.weight", trained({2, 2})},
          {"encoder.layer.0.attention.weight", trained({2, 2})},
          {"encoder.layer.0.norm.weight", trained({2})},
          {"encoder.layer.1.attention.weight", trained({2, 2})},
          {"classifier.weight", trained({2, 2})}};
}

TEST(ParameterGroups, MatricesDecayOnly) {
  const at::Tensor matrix = torch::ones({2, 2});
  EXPECT_TRUE(decays("layers.0.attention.query.weight", matrix));
  EXPECT_FALSE(decays("layers.0.norm.weight", torch::ones({2})));
  EXPECT_FALSE(decays("layers.0.attention.query.bias", torch::ones({2})));
  EXPECT_FALSE(decays("layers.0.attention.mechanism.content_bias", matrix));
  EXPECT_FALSE(decays("layers.0.attention.mechanism.slopes", torch::ones({2})));
  EXPECT_FALSE(decays("embeddings.tokens", matrix));
  const auto groups = parameter_groups(small_model(), {});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].parameters.size(), 3U);
  EXPECT_EQ(groups[0].weight_decay, 0.1);
  EXPECT_EQ(groups[1].weight_decay, 0.0);
  EXPECT_EQ(groups[1].rate_factor, 1.0);
}

TEST(ParameterGroups, LowerLayersLearnMoreSlowly) {
  EXPECT_EQ(layer_of("embeddings.word_embeddings.weight", 2), 0);
  EXPECT_EQ(layer_of("encoder.layer.1.attention.weight", 2), 2);
  EXPECT_EQ(layer_of("layers.0.x2.weight", 2), 1);
  EXPECT_EQ(layer_of("classifier.weight", 2), 3);
  TrainerConfig config;
  config.layer_decay = 0.5;
  std::map<std::string, double> factor;
  for (const ParameterGroup& group : parameter_groups(small_model(), config)) {
    for (const auto& [name, parameter] : group.parameters) {
      factor[name] = group.rate_factor;
    }
  }
  EXPECT_EQ(factor["classifier.weight"], 1.0);
  EXPECT_EQ(factor["encoder.layer.1.attention.weight"], 0.5);
  EXPECT_EQ(factor["encoder.layer.0.attention.weight"], 0.25);
  EXPECT_EQ(factor["encoder.layer.0.norm.weight"], 0.25);
  EXPECT_EQ(factor["embeddings.word_embeddings.weight"], 0.125);
}

TEST(ParameterGroups, TheFactorIsOnTheRate) {
  const NamedTensors one = {{"layers.0.bias", trained({1})}, {"head.bias", trained({1})}};
  for (const auto& [name, parameter] : one) {
    parameter.mutable_grad() = torch::ones({1});
  }
  TrainerConfig config;
  config.layer_decay = 0.5;
  make_optimizer(one, config)->step(0.1);
  // The first step of AdamW moves by the rate; epsilon is below float32's rounding of 1.
  EXPECT_NEAR(one[0].second.item<double>(), 1 - 0.05, 1e-6);
  EXPECT_NEAR(one[1].second.item<double>(), 1 - 0.1, 1e-6);
}

TEST(ParameterGroups, WhatIsFrozenDoesNotTrain) {
  const NamedTensors parameters = small_model();
  freeze(parameters, {"embeddings.*", "*.layer.0.*"});
  EXPECT_FALSE(parameters[0].second.requires_grad());
  EXPECT_FALSE(parameters[2].second.requires_grad());
  EXPECT_TRUE(parameters[3].second.requires_grad());
  std::size_t left = 0;
  for (const ParameterGroup& group : parameter_groups(parameters, {})) {
    left += group.parameters.size();
  }
  EXPECT_EQ(left, 2U);
  freeze(parameters, {"embeddings.*"});  // again, as a resumed run does
  test::expect_error(ErrorKind::kArgument, {"freeze", "'decoder.*'", "embeddings.word_embeddings.weight"},
                     [&] { freeze(parameters, {"decoder.*"}); });
  test::expect_error(ErrorKind::kArgument, {"freeze", "none is left"}, [&] { freeze(small_model(), {"*"}); });
}

}  // namespace
}  // namespace weft::training
