// SPDX-License-Identifier: Apache-2.0
// The native model: causality, losses, gradients, recomputation, dropout, padding, initial weights.
#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn_like.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "models/small_model.h"
#include "support/expect_error.h"

namespace weft::models {
namespace {

using test::input_of;
using test::make_model;
using test::random_ids;
using test::small_config;

struct Variant {
  std::string attention = "full";
  std::string position = "rotary";
  std::string norm = "pre";
  std::string activation = "gelu";
  std::int64_t key_value_heads = 0;
  bool tied = true;
  std::string residual = "plain";
  bool learned_slopes = false;
  std::int64_t tokens = 20;  // hashed layers and spans need more of them to leave any out
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {},
      {"window(4)", "learned", "post", "gelu_new", 1, false},
      {"strided(5)", "sinusoidal", "pre", "swiglu", 0, true},
      {"fixed(4, 1)", "rotary", "post", "relu", 1, true},
      {"heads(window(6), stride(3))", "learned", "pre", "silu", 0, false},
      {"relative(left=7, biases=shared)", "none", "post", "relu", 1, true},
      {"window(4)", "axial", "pre", "gelu", 1, false, "reversible"},
      {"linear", "rotary", "pre", "swiglu", 0, true, "reversible"},
      {"heads(window(6), stride(3))", "alibi", "pre", "gelu", 0, true, "plain", true},
      {"lsh(causal=rank, window=3, buckets=4)", "rotary", "pre", "gelu", 0, true, "plain", false, 150},
      {"lsh(causal=rank, window=20, buckets=8, rounds=3)", "sinusoidal", "post", "relu", 0, false, "plain", false, 97},
      {"span(max=30, ramp=8, init=9)", "sinusoidal", "pre", "gelu", 1, true, "plain", false, 150},
  };
  return all;
}

TransformerConfig config_of(const Variant& variant, bool decoder = true) {
  TransformerConfig config = small_config();
  config.attention = {variant.attention};
  config.position_embedding = variant.position;
  config.norm_position = variant.norm;
  config.hidden_act = variant.activation;
  config.num_key_value_heads = variant.key_value_heads;
  config.tie_word_embeddings = variant.tied;
  config.residual = variant.residual;
  config.learned_slopes = variant.learned_slopes;
  config.is_decoder = decoder;
  return config;
}

TEST(LanguageModel, ALaterTokenNeverReachesAnEarlierOne) {
  const at::NoGradGuard without_gradients;
  for (const Variant& variant : variants()) {
    LanguageModel model = make_model(config_of(variant));
    // A token in another bucket changes the order in which hashed rows are summed, and so their last bits. Those of
    // float64 are too few to send a row of the next layer into another bucket.
    const bool hashes = variant.attention.starts_with("lsh");
    model->to(hashes ? at::kDouble : at::kFloat);
    const double rounding = hashes ? 1e-10 : 0.0;
    const at::Tensor ids = random_ids(2, variant.tokens);
    const at::Tensor before = model->logits(input_of(ids));
    for (const std::int64_t place : {std::int64_t{13}, variant.tokens - 7}) {
      at::Tensor changed = ids.clone();
      changed.select(1, place).add_(1).remainder_(256);
      const at::Tensor after = model->logits(input_of(changed));
      const at::Tensor moved = (before - after).abs();
      EXPECT_LE(moved.narrow(1, 0, place).max().item<double>(), rounding) << variant.attention;
      EXPECT_GT(moved.select(1, place).max().item<double>(), 1e-3) << variant.attention;
    }
  }
}

TEST(LanguageModel, AnEncoderSeesBothWays) {
  const at::NoGradGuard without_gradients;
  for (const Variant& variant : {Variant{}, Variant{"window(8)", "learned", "post"}}) {
    LanguageModel model = make_model(config_of(variant, false));
    const at::Tensor ids = random_ids(1, 12);
    at::Tensor changed = ids.clone();
    changed.select(1, 8).add_(1).remainder_(256);
    EXPECT_FALSE(model->logits(input_of(ids)).select(1, 6).equal(model->logits(input_of(changed)).select(1, 6)));
  }
}

TEST(LanguageModel, LossIsTheCrossEntropyOfTheLogits) {
  for (const bool decoder : {true, false}) {
    for (const Variant& variant : variants()) {
      TransformerConfig config = config_of(variant, decoder);
      config.loss_chunk_size = 7;
      LanguageModel model = make_model(config);
      model->to(at::kDouble);
      const ModelInput input = input_of(random_ids(2, 20));
      const at::Tensor labels = random_ids(2, 20).masked_fill_(random_ids(2, 20).lt(100), -100);
      const at::Tensor expected =
          at::cross_entropy_loss(model->logits(input).flatten(0, 1), labels.flatten(), {}, at::Reduction::Mean, -100);
      // float64 sums in another order
      EXPECT_NEAR(model->loss(input, labels).item<double>(), expected.item<double>(), 1e-12);
      const auto [each, hits] = model->token_scores(input, labels);
      EXPECT_NEAR((each.sum() / labels.ne(-100).sum()).item<double>(), expected.item<double>(), 1e-12);
      EXPECT_EQ(each.masked_select(labels.eq(-100)).abs().sum().item<double>(), 0.0);
      EXPECT_TRUE(hits.equal(model->logits(input).argmax(2).eq(labels)));
    }
  }
}

/// The loss at parameters moved by `step` along `direction`.
double moved_loss(LanguageModel model, const std::vector<at::Tensor>& direction, double step, const ModelInput& input,
                  const at::Tensor& labels) {
  const at::NoGradGuard without_gradients;
  const std::vector<at::Tensor> parameters = model->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor(parameters[i]).add_(direction[i], step);
  }
  const double loss = model->loss(input, labels).item<double>();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor(parameters[i]).sub_(direction[i], step);
  }
  return loss;
}

TEST(LanguageModel, GradientOfTheWholeModelIsItsDerivative) {
  for (const bool decoder : {true, false}) {
    for (const Variant& variant : variants()) {
      LanguageModel model = make_model(config_of(variant, decoder));
      model->to(at::kDouble);
      if (variant.attention.starts_with("span")) {
        // A span of a whole number of tokens is a corner of its mask, which has no derivative there.
        const at::NoGradGuard without_gradients;
        for (at::Tensor& parameter : model->parameters()) {
          parameter.add_(at::randn_like(parameter, at::TensorOptions()), 0.01);
        }
      }
      const ModelInput input = input_of(random_ids(2, 11));
      const at::Tensor labels = random_ids(2, 11);
      model->loss(input, labels).backward();
      std::vector<at::Tensor> direction;
      double slope = 0.0;
      for (const at::Tensor& parameter : model->parameters()) {
        direction.push_back(at::randn_like(parameter, at::TensorOptions()));
        ASSERT_TRUE(parameter.grad().defined());
        slope += parameter.grad().mul(direction.back()).sum().item<double>();
      }
      constexpr double kStep = 1e-6;
      const double difference =
          (moved_loss(model, direction, kStep, input, labels) - moved_loss(model, direction, -kStep, input, labels)) /
          (2 * kStep);
      // central differences of a loss near 10: 1e-9 from rounding, and curvature times step squared
      EXPECT_NEAR(slope, difference, 1e-5 * std::max(1.0, std::abs(slope)))
          << variant.attention << " decoder " << decoder;
    }
  }
}

std::vector<at::Tensor> gradients_of(LanguageModel model, const ModelInput& input, const at::Tensor& labels) {
  model->zero_grad();
  model->loss(input, labels).backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : model->parameters()) {
    gradients.push_back(parameter.grad().clone());
  }
  return gradients;
}

TEST(LanguageModel, RecomputationChangesNoGradient) {
  for (const Variant& variant : variants()) {
    TransformerConfig config = config_of(variant);
    config.hidden_dropout_prob = 0.2;
    config.attention_probs_dropout_prob = 0.1;
    LanguageModel model = make_model(config);
    model->train();
    ModelInput input = input_of(random_ids(2, variant.tokens));
    input.seed = 77;
    const at::Tensor labels = random_ids(2, variant.tokens);
    const std::vector<at::Tensor> plain = gradients_of(model, input, labels);
    model->set_gradient_checkpointing(true);
    const std::vector<at::Tensor> recomputed = gradients_of(model, input, labels);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(plain[i].equal(recomputed[i])) << variant.attention << ", parameter " << i;
    }
  }
}

TEST(LanguageModel, DropoutFollowsItsSeedAndTheTrainingMode) {
  const at::NoGradGuard without_gradients;
  TransformerConfig config = small_config();
  config.hidden_dropout_prob = 0.3;
  LanguageModel model = make_model(config);
  ModelInput input = input_of(random_ids(1, 9));
  EXPECT_TRUE(model->logits(input).equal(model->logits(input)));
  model->train();
  torch::manual_seed(5);
  const at::Tensor first = model->logits(input);
  EXPECT_FALSE(first.equal(model->logits(input)));
  torch::manual_seed(5);
  EXPECT_TRUE(first.equal(model->logits(input)));
  input.seed = 8;
  EXPECT_TRUE(model->logits(input).equal(model->logits(input)));
}

TEST(LanguageModel, PaddingDoesNotMoveRealPositions) {
  const at::NoGradGuard without_gradients;
  for (const std::string attention :
       {"full", "window(6)", "window(4) | global(first=1, last=1)", "block(4, window(3))"}) {
    LanguageModel model = make_model(config_of({attention, "rotary"}, false));
    const at::Tensor ids = random_ids(2, 20);
    ModelInput padded = input_of(ids);
    padded.attention_mask = at::ones({2, 20}, at::kLong);
    padded.attention_mask[1].narrow(0, 13, 7).zero_();
    const at::Tensor together = model->logits(padded);
    // another batch shape sums in another order
    EXPECT_TRUE(together[0].allclose(model->logits(input_of(ids.narrow(0, 0, 1)))[0], 1e-4, 1e-4)) << attention;
    const at::Tensor alone = model->logits(input_of(ids.narrow(0, 1, 1).narrow(1, 0, 13)));
    EXPECT_TRUE(together[1].narrow(0, 0, 13).allclose(alone[0], 1e-4, 1e-4)) << attention;
    EXPECT_TRUE(together.isfinite().all().item<bool>()) << attention;
  }
}

TEST(LanguageModel, MaskedTokensInsideARowAreHidden) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(config_of({}, false));
  ModelInput input = input_of(random_ids(1, 10));
  input.attention_mask = at::ones({1, 10}, at::kBool);
  input.attention_mask.select(1, 4).zero_();
  const at::Tensor before = model->logits(input);
  input.input_ids = input.input_ids.clone();
  input.input_ids.select(1, 4).add_(1).remainder_(256);
  const at::Tensor after = model->logits(input);
  EXPECT_TRUE(before.select(1, 7).equal(after.select(1, 7)));
}

TEST(LanguageModel, GlobalPositionsDifferByRow) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(config_of({"window(2) | global(input)"}, false));
  ModelInput input = input_of(random_ids(2, 16));
  input.global_positions = {{0}, {}};
  const at::Tensor before = model->logits(input);
  input.input_ids = input.input_ids.clone();
  input.input_ids.select(1, 0).add_(1).remainder_(256);
  const at::Tensor after = model->logits(input);
  EXPECT_FALSE(before[0][12].equal(after[0][12]));
  EXPECT_TRUE(before[1][12].equal(after[1][12]));  // two layers of window(2) reach 2 tokens
}

TEST(LanguageModel, InitialWeightsAreThePublishedOnes) {
  TransformerConfig config = small_config();
  config.hidden_size = 128;
  config.intermediate_size = 512;
  config.initializer_range = 0.02;
  for (const std::string norm : {"pre", "post"}) {
    config.norm_position = norm;
    LanguageModel model = make_model(config);
    for (const auto& parameter : model->named_parameters()) {
      const std::string& name = parameter.key();
      const at::Tensor& value = parameter.value();
      if (value.dim() == 1) {
        const double expected = name.ends_with("norm.weight") ? 1.0 : 0.0;
        EXPECT_TRUE(value.eq(expected).all().item<bool>()) << name;
        continue;
      }
      const bool residual =
          name.find("output.weight") != std::string::npos || name.find("down.weight") != std::string::npos;
      const double expected = 0.02 / (residual && norm == "pre" ? 2.0 : 1.0);  // sqrt(2 * 2 layers)
      // the deviation of n draws has a standard error of 1 / sqrt(2 n), below 0.8% for the smallest matrix here
      EXPECT_NEAR(value.std().item<double>(), expected, 0.04 * expected) << name;
    }
  }
}

TEST(LanguageModel, CountsItsParameters) {
  const TransformerConfig config = small_config();
  const std::int64_t width = 16;
  const std::int64_t wide = 24;
  const std::int64_t block = 4 * width * width + 4 * width + 2 * width * wide + width + wide + 4 * width;
  EXPECT_EQ(make_model(config)->parameter_count(), 256 * width + 2 * block + 2 * width);
  const Variant encoder{"full", "learned", "post", "swiglu", 1, false};
  const std::int64_t gated = (width + width / 2 * 2) * (width + 1) + (width + 1) * width + 2 * wide * (width + 1) +
                             (wide + 1) * width + 4 * width;
  const std::int64_t head = 256 * width + 256 + width * (width + 1) + 2 * width;
  EXPECT_EQ(make_model(config_of(encoder, false))->parameter_count(),
            (256 + 64) * width + 2 * width + 2 * gated + head);
}

TEST(LanguageModel, RunsAtAnyLengthUnlessPositionsAreLearned) {
  const at::NoGradGuard without_gradients;
  for (const std::string position : {"rotary", "sinusoidal", "alibi"}) {
    LanguageModel model = make_model(config_of({"window(8)", position}));
    EXPECT_TRUE(model->logits(input_of(random_ids(1, 100))).isfinite().all().item<bool>());
  }
  LanguageModel learned = make_model(config_of({"window(8)", "learned"}));
  EXPECT_NO_THROW(learned->logits(input_of(random_ids(1, 64))));
  test::expect_error(ErrorKind::kArgument, {"learned", "max_position_embeddings = 64", "65"},
                     [&] { learned->logits(input_of(random_ids(1, 65))); });
}

TEST(LanguageModel, RefusesWrongInput) {
  LanguageModel model = make_model(small_config());
  const at::Tensor ids = random_ids(1, 4);
  const auto run = [&](const ModelInput& input) { return [&, input] { model->hidden_states(input); }; };
  test::expect_error(ErrorKind::kArgument, {"300", "vocab_size = 256"}, run(input_of(at::full_like(ids, 300))));
  test::expect_error(ErrorKind::kArgument, {"-1"}, run(input_of(at::full_like(ids, -1))));
  test::expect_error(ErrorKind::kArgument, {"int64"}, run(input_of(ids.to(at::kInt))));
  test::expect_error(ErrorKind::kArgument, {"at least one token"}, run(input_of(ids.narrow(1, 0, 0))));
  ModelInput masked = input_of(ids);
  masked.attention_mask = at::ones({1, 5}, at::kBool);
  test::expect_error(ErrorKind::kArgument, {"attention_mask", "[1, 5]", "[1, 4]"}, run(masked));
  ModelInput bound = input_of(ids);
  bound.global_positions = {{4}};
  test::expect_error(ErrorKind::kArgument, {"global_positions[0]", "4"}, run(bound));
  test::expect_error(ErrorKind::kArgument, {"labels", "[1, 3]"},
                     [&] { model->loss(input_of(ids), ids.narrow(1, 0, 3)); });
}

TEST(LanguageModel, RotationsOfEachStepNeedNoDropout) {
  const at::NoGradGuard without_gradients;
  TransformerConfig config = small_config();
  config.is_decoder = false;
  config.attention = {"lsh(seed=step, buckets=4, chunk=4)"};
  LanguageModel model = make_model(config);
  const at::Tensor ids = random_ids(1, 32);
  const auto hidden = [&](std::uint64_t seed) {
    ModelInput input = input_of(ids);
    input.seed = seed;
    return model->hidden_states(input);
  };
  model->train();
  EXPECT_TRUE(hidden(1).equal(hidden(1)));
  EXPECT_FALSE(hidden(1).allclose(hidden(2)));
  model->eval();
  EXPECT_TRUE(hidden(1).equal(hidden(2)));
}

}  // namespace
}  // namespace weft::models
