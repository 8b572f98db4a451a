// SPDX-License-Identifier: Apache-2.0
// The encoder of ETC: its layers against their sums, padding, recomputation, learning by the contrastive loss.
#include "support/layers/etc_encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ops/embedding.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "support/expect_error.h"
#include "weft/layers/etc/sentence_structure.h"

namespace weft::test {
namespace {

using testing::EtcConfig;
using testing::EtcEncoder;
using testing::EtcInput;
using testing::GlobalLocalRows;

EtcConfig small_etc() {
  EtcConfig config;
  config.vocab_size = 30;
  config.segment_types = 2;
  config.layers = 2;
  config.intermediate_size = 12;
  config.dropout = 0.0;
  config.attention.hidden_size = 8;
  config.attention.heads = 2;
  config.attention.head_dim = 4;
  config.attention.radius = 3;
  config.attention.dropout = 0.0;
  return config;
}

EtcEncoder etc_encoder(const EtcConfig& config) {
  at::manual_seed(11);
  EtcEncoder model(config, at::TensorOptions(at::kDouble));
  const at::NoGradGuard without_gradients;
  for (at::Tensor& parameter : model->parameters()) {
    parameter.copy_(at::randn(parameter.sizes()) * 0.5);
  }
  model->eval();
  return model;
}

/// Ids of 20 tokens, whose sentences end behind id 3.
EtcInput etc_input(std::int64_t batch) {
  EtcInput input;
  input.ids = at::randint(0, 10, {batch, 20}, at::kLong);
  input.structure = layers::sentence_structure(input.ids, {}, {.ends = {3}, .longest = 6});
  input.global_ids = input.structure.global_keep.to(at::kLong);  // kSentence, or padding
  return input;
}

// One layer written out: two norms, one feed-forward for both inputs, gelu as released (tanh).
TEST(EtcEncoder, ALayerIsAttentionAndASharedFeedForward) {
  EtcConfig config = small_etc();
  config.layers = 1;
  EtcEncoder model = etc_encoder(config);
  const auto parameters = model->named_parameters();
  const EtcInput input = etc_input(2);
  const GlobalLocalRows found = model->forward(input);
  const auto norm = [&](const at::Tensor& rows, const std::string& name) {
    return at::layer_norm(rows, {8}, parameters[name + ".weight"], parameters[name + ".bias"], 1e-12);
  };
  const auto product = [&](const at::Tensor& rows, const std::string& name) {
    return at::linear(rows, parameters[name + ".weight"], parameters[name + ".bias"]);
  };
  const auto start = [&](const std::string& table, const at::Tensor& ids, std::int64_t segment) {
    return at::embedding(parameters[table], ids) + parameters["segments"][segment];
  };
  const GlobalLocalRows x{norm(start("tokens", input.ids, 1), "norm"),
                          norm(start("global_tokens", input.global_ids, 0), "global_norm")};
  testing::GlobalLocalAttention attention(config.attention, at::TensorOptions(at::kDouble));
  const at::NoGradGuard without_gradients;
  for (auto& parameter : attention->named_parameters()) {
    parameter.value().copy_(parameters["layers.0.attention." + parameter.key()]);
  }
  const GlobalLocalRows seen = attention->forward(x, input.structure);
  const auto behind = [&](const at::Tensor& before, const at::Tensor& added, const std::string& its_norm) {
    const at::Tensor rows = norm(before + added, "layers.0." + its_norm);
    const at::Tensor wide = product(rows, "layers.0.feed_forward.up");
    const at::Tensor active = 0.5 * wide * (1 + at::tanh(std::sqrt(2 / M_PI) * (wide + 0.044715 * wide.pow(3))));
    return norm(rows + product(active, "layers.0.feed_forward.down"), "layers.0.feed_forward_norm");
  };
  EXPECT_LT((behind(x.tokens, seen.tokens, "attention_norm") - found.tokens).abs().max().item<double>(), 1e-9);
  EXPECT_LT((behind(x.globals, seen.globals, "global_attention_norm") - found.globals).abs().max().item<double>(),
            1e-9);
}

TEST(EtcEncoder, ATextIsWhatItIsAlone) {
  EtcEncoder model = etc_encoder(small_etc());
  EtcInput input = etc_input(2);
  input.structure.keep = at::ones({2, 20}, at::kBool);
  input.structure.keep[1].narrow(0, 13, 7).fill_(false);
  const attention::EtcStructure cut =
      layers::sentence_structure(input.ids, input.structure.keep, {.ends = {3}, .longest = 6});
  input.structure = cut;
  input.global_ids = cut.global_keep.to(at::kLong);
  const GlobalLocalRows found = model->forward(input);
  EtcInput alone;
  alone.ids = input.ids.narrow(0, 1, 1).narrow(1, 0, 13).contiguous();
  alone.structure = layers::sentence_structure(alone.ids, {}, {.ends = {3}, .longest = 6});
  alone.global_ids = at::ones_like(alone.structure.global_keep, at::kLong);
  const GlobalLocalRows expected = model->forward(alone);
  const std::int64_t globals = alone.global_ids.size(1);
  EXPECT_LT((found.tokens[1].narrow(0, 0, 13) - expected.tokens[0]).abs().max().item<double>(), 1e-12);
  EXPECT_LT((found.globals[1].narrow(0, 0, globals) - expected.globals[0]).abs().max().item<double>(), 1e-12);
}

TEST(EtcEncoder, RecomputationChangesNoGradient) {
  EtcConfig config = small_etc();
  config.dropout = 0.2;
  config.attention.dropout = 0.2;
  EtcEncoder model = etc_encoder(config);
  model->train();
  EtcInput input = etc_input(2);
  input.seed = 9;
  std::vector<std::vector<at::Tensor>> gradients;
  for (const bool recompute : {false, true}) {
    model->zero_grad();
    const GlobalLocalRows rows = model->forward(input, recompute);
    (rows.tokens.pow(3).sum() + rows.globals.pow(3).sum()).backward();
    gradients.emplace_back();
    for (const at::Tensor& parameter : model->parameters()) {
      gradients.back().push_back(parameter.grad().clone());
    }
  }
  for (std::size_t i = 0; i < gradients[0].size(); ++i) {
    EXPECT_LT((gradients[0][i] - gradients[1][i]).abs().max().item<double>(), 1e-9) << i;
  }
}

// Sentences are hidden, and steps along the signs of gradients tell one from the other by what is around them.
TEST(EtcEncoder, LearnsByTheContrastiveLoss) {
  EtcEncoder model = etc_encoder(small_etc());
  const EtcInput input = etc_input(3);
  at::Tensor chosen = at::zeros_like(input.structure.global_keep);
  chosen.select(1, 0).fill_(true);
  chosen.select(1, 2).copy_(input.structure.global_keep.select(1, 2));
  EtcInput hidden = input;
  hidden.ids = layers::hide_sentences(input.ids, input.structure.sentence, chosen, 29);
  const auto loss = [&] {
    return layers::contrastive_loss(model->forward(hidden).globals, model->forward(input).globals, chosen);
  };
  const double first = loss().item<double>();
  for (int step = 0; step < 120; ++step) {
    model->zero_grad();
    loss().backward();
    const at::NoGradGuard without_gradients;
    for (at::Tensor& parameter : model->parameters()) {
      if (parameter.grad().defined()) {
        parameter.sub_(parameter.grad().sign(), 0.01 * (1 - step / 120.0));
      }
    }
  }
  EXPECT_LT(loss().item<double>(), 0.8 * first);
}

TEST(EtcEncoder, ErrorsNameWhatDoesNotFit) {
  EtcEncoder model = etc_encoder(small_etc());
  EtcInput input = etc_input(1);
  input.ids[0][3].fill_(30);
  expect_error(ErrorKind::kArgument, {"30 tokens", "30"}, [&] { model->forward(input); });
  input = etc_input(1);
  input.global_ids = input.global_ids + 8;
  expect_error(ErrorKind::kArgument, {"8 global tokens"}, [&] { model->forward(input); });
  EtcConfig config = small_etc();
  config.layers = 0;
  expect_error(ErrorKind::kArgument, {"layers", "at least 1"}, [&] { etc_encoder(config); });
}

}  // namespace
}  // namespace weft::test
