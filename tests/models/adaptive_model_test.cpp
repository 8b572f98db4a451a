// SPDX-License-Identifier: Apache-2.0
// Models whose vocabulary is in clusters: logits are logarithms of probabilities that every way of scoring agrees on;
// decoding and segments behind a memory; what does not go together.
#include <gtest/gtest.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>

#include <memory>
#include <string>
#include <vector>

#include "models/small_model.h"
#include "support/expect_error.h"
#include "weft/layers/decoding_state.h"
#include "weft/layers/memory/segment_memory.h"

namespace weft::models {
namespace {

using test::input_of;
using test::make_model;
using test::random_ids;

constexpr double kOtherSums = 1e-4;  // float32

struct AdaptiveCase {
  std::vector<std::int64_t> cutoffs;
  std::int64_t division;
  std::string variant;
  bool tied;
};

const std::vector<AdaptiveCase> kCases = {{{40, 200}, 2, "weft", true},
                                          {{40, 200}, 1, "weft", false},
                                          {{255}, 4, "transformer-xl", false},
                                          {{1, 17, 90}, 2, "transformer-xl", true},
                                          {{}, 1, "transformer-xl", true}};

TransformerConfig adaptive_config(const AdaptiveCase& each) {
  TransformerConfig config = test::small_config();
  config.vocabulary_cutoffs = each.cutoffs;
  config.vocabulary_division = each.division;
  config.variant = each.variant;
  config.tie_word_embeddings = each.tied;
  config.position_embedding = "none";
  config.attention = {"relative"};
  config.norm_position = each.variant == "weft" ? "pre" : "post";
  config.memory_length = 12;
  return config;
}

TEST(AdaptiveModel, EveryWayOfScoringAgrees) {
  for (const AdaptiveCase& each : kCases) {
    LanguageModel model = make_model(adaptive_config(each));
    const at::Tensor ids = random_ids(2, 13);
    const at::Tensor labels = random_ids(2, 13);
    labels[1][4] = -100;
    at::Tensor loss = model->loss(input_of(ids), labels);
    loss.backward();
    for (const auto& parameter : model->named_parameters()) {
      EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
    }
    const at::NoGradGuard without_gradients;
    const at::Tensor logits = model->logits(input_of(ids));
    ASSERT_EQ(logits.sizes(), at::IntArrayRef({2, 13, 256}));
    EXPECT_LT(logits.logsumexp(-1).abs().max().item<float>(), 1e-5F) << "logarithms of probabilities";
    const TokenScores scores = model->token_scores(input_of(ids), labels);
    const at::Tensor expected = logits.gather(2, labels.clamp_min(0).unsqueeze(2)).squeeze(2).neg();
    EXPECT_LT((scores.nats - expected.masked_fill(labels.lt(0), 0)).abs().max().item<float>(), 1e-5F);
    EXPECT_NEAR(loss.item<double>(), scores.nats.sum().item<double>() / 25, 1e-5);
    EXPECT_EQ(scores.hits[1][4].item<bool>(), false);
  }
}

TEST(AdaptiveModel, DecodingAndSegmentsGiveWhatTheWholeGives) {
  const at::NoGradGuard without_gradients;
  for (const AdaptiveCase& each : kCases) {
    LanguageModel model = make_model(adaptive_config(each));
    const at::Tensor ids = random_ids(2, 12);
    const at::Tensor whole = model->logits(input_of(ids));
    layers::DecodingState state = model->initial_state();
    const at::Tensor prompt = model->decode(ids.narrow(1, 0, 5), state);
    const at::Tensor next = model->decode(ids.narrow(1, 5, 1), state);
    EXPECT_LT((prompt - whole.select(1, 4)).abs().max().item<double>(), kOtherSums);
    EXPECT_LT((next - whole.select(1, 5)).abs().max().item<double>(), kOtherSums);
    const auto memory = std::make_shared<layers::SegmentMemory>();
    std::vector<at::Tensor> parts;
    for (const std::int64_t begin : {0, 7}) {
      ModelInput input = input_of(ids.narrow(1, begin, begin == 0 ? 7 : 5));
      input.memory = memory;
      parts.push_back(model->logits(input));
    }
    EXPECT_LT((at::cat(parts, 1) - whole).abs().max().item<double>(), kOtherSums);
    at::Tensor changed = ids.clone();
    changed.narrow(1, 8, 4).copy_(random_ids(2, 4));
    // A cluster's projection multiplies as many rows as have its ids: a later id rounds the others' rows differently.
    const double moved = (model->logits(input_of(changed)) - whole).narrow(1, 0, 8).abs().max().item<double>();
    EXPECT_LE(moved, each.division == 1 ? 0.0 : kOtherSums);
  }
}

TEST(AdaptiveModel, OnlyTrainingDropsAnything) {
  const at::NoGradGuard without_gradients;
  const at::Tensor ids = random_ids(2, 9);
  for (const AdaptiveCase& each : kCases) {
    TransformerConfig config = adaptive_config(each);
    const at::Tensor whole = make_model(config)->logits(input_of(ids));
    config.hidden_dropout_prob = 0.5;
    LanguageModel model = make_model(config);
    model->eval();
    EXPECT_TRUE(at::equal(model->logits(input_of(ids)), whole));
    model->train();
    EXPECT_FALSE(at::equal(model->logits(input_of(ids)), whole));
  }
}

TEST(AdaptiveModel, TransformerXlHasNoNormsAndBiasesThatWereNotReleased) {
  LanguageModel model = make_model(adaptive_config({{40, 200}, 2, "transformer-xl", true}));
  const auto names = model->named_parameters();
  for (const char* absent : {"embeddings.norm.weight", "layers.0.attention.qkv.bias", "layers.1.attention.output.bias",
                             "norm.weight", "head.vocabulary.cluster_1.projection"}) {
    EXPECT_FALSE(names.contains(absent)) << absent;
  }
  for (const char* present : {"embeddings.tokens.cluster_2.projection", "head.vocabulary.cluster_0.projection",
                              "head.vocabulary.cluster_2.bias", "head.vocabulary.cluster_weight"}) {
    EXPECT_TRUE(names.contains(present)) << present;
  }
  EXPECT_EQ(names["embeddings.tokens.cluster_2.weight"].sizes(), at::IntArrayRef({56, 4}));
}

// The released programs draw weights of norms around 1, and projections of clusters by themselves.
TEST(AdaptiveModel, TransformerXlBeginsAsReleased) {
  TransformerConfig config = adaptive_config({{40, 200}, 2, "transformer-xl", true});
  config.hidden_size = 128;
  config.initializer_range = 0.02;
  LanguageModel model = make_model(config);
  std::vector<at::Tensor> norms;
  for (const auto& parameter : model->named_parameters()) {
    const std::string& name = parameter.key();
    const at::Tensor& value = parameter.value();
    if (name.ends_with("norm.weight")) {
      norms.push_back(value.detach());
    } else if (name.ends_with("bias") && name.find("mechanism") == std::string::npos) {
      EXPECT_TRUE(value.eq(0).all().item<bool>()) << name;
    } else if (value.numel() >= 2000) {
      const double expected = name.ends_with("projection") ? 0.01 : 0.02;
      // the deviation of 2,000 draws has a standard error of 1.6%
      EXPECT_NEAR(value.std().item<double>(), expected, 0.08 * expected) << name;
    }
  }
  const at::Tensor weights = at::cat(norms);
  ASSERT_EQ(weights.numel(), 4 * 128);
  EXPECT_NEAR(weights.mean().item<double>(), 1.0, 0.005);  // the standard errors are 0.0009 and 3%
  EXPECT_NEAR(weights.std().item<double>(), 0.02, 0.003);
  config.variant = "weft";
  LanguageModel other = make_model(config);
  EXPECT_TRUE(other->named_parameters()["layers.0.attention_norm.weight"].eq(1.0).all().item<bool>());
}

TEST(AdaptiveModel, RecomputedLayersDropTheSameWaves) {
  TransformerConfig config = adaptive_config({{40, 200}, 2, "transformer-xl", true});
  config.hidden_dropout_prob = 0.3;
  config.attention = {"relative(biases=shared)"};
  LanguageModel model = make_model(config);
  model->train();
  const at::Tensor ids = random_ids(2, 20);
  const at::Tensor labels = random_ids(2, 20);
  const auto gradients = [&](bool recompute) {
    model->set_gradient_checkpointing(recompute);
    const auto memory = std::make_shared<layers::SegmentMemory>();
    std::vector<at::Tensor> found;
    model->zero_grad();
    for (const std::int64_t begin : {0, 8}) {
      ModelInput input = input_of(ids.narrow(1, begin, begin == 0 ? 8 : 12));
      input.memory = memory;
      input.seed = 5 + static_cast<std::uint64_t>(begin);
      model->loss(input, labels.narrow(1, begin, input.input_ids.size(1))).backward();
    }
    for (const at::Tensor& parameter : model->parameters()) {
      found.push_back(parameter.grad().clone());
    }
    return found;
  };
  const auto plain = gradients(false);
  const auto recomputed = gradients(true);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(plain[i].equal(recomputed[i])) << i;
  }
}

TEST(AdaptiveModel, WhatDoesNotGoTogetherIsRefused) {
  const AdaptiveCase good = {{40, 200}, 2, "transformer-xl", true};
  const auto refused = [&](std::initializer_list<std::string_view> words, const auto& change) {
    TransformerConfig config = adaptive_config(good);
    change(config);
    test::expect_error(ErrorKind::kArgument, words, [&] { validate(config, "config"); });
  };
  refused({"vocabulary_division", "no vocabulary_cutoffs"}, [](auto& config) { config.vocabulary_cutoffs = {}; });
  refused({"vocabulary_cutoffs", "vocab_size = 256", "256"}, [](auto& config) { config.vocabulary_cutoffs = {256}; });
  refused({"decoders"}, [](auto& config) { config.is_decoder = false; });
  refused({"norm_position post"}, [](auto& config) { config.norm_position = "pre"; });
  refused({"leaves no column"}, [](auto& config) { config.vocabulary_division = 5; });
  refused({"variant", "transformer-xl"}, [](auto& config) { config.variant = "transformer"; });
  LanguageModel model = make_model(adaptive_config(good));
  const at::Tensor ids = random_ids(1, 4);
  test::expect_error(ErrorKind::kUnsupported, {"label_smoothing", "clusters"},
                     [&] { model->loss(input_of(ids), ids, 0.1); });
}

}  // namespace
}  // namespace weft::models
