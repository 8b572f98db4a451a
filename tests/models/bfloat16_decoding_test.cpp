// SPDX-License-Identifier: Apache-2.0
// A decoder with weights of bfloat16: how far its logarithms of probabilities are from those of float32, that its
// tokens one by one are the whole text, and that several texts are each. One that learned in bfloat16, whose weights
// stay float32: the type of what it remembers, and how long it keeps other forms of its weights.
#include <gtest/gtest.h>

#include <ATen/autocast_mode.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "models/small_model.h"
#include "weft/core/error.h"

namespace weft::models {
namespace {

using test::in_bfloat16;
using test::input_of;
using test::make_model;
using test::random_ids;
using test::small_config;

// A weight or a result has 8 bits: it is off by at most 2^-9 of itself, and by a third of that in the mean. Through two
// layers whose logits have a deviation near 1 that makes hundredths of a nat.
constexpr double kMeanNats = 0.05;

const std::initializer_list<std::int64_t> kTextPieces = {5, 1, 1, 3, 1, 1, 1, 7, 1};

/// Logits after each piece, one behind the other: [pieces, batch, vocab].
std::vector<at::Tensor> logits_by_pieces(LanguageModel model, const at::Tensor& ids) {
  layers::DecodingState state = model->initial_state();
  std::vector<at::Tensor> logits;
  for (const std::int64_t piece : kTextPieces) {
    logits.push_back(model->decode(ids.narrow(1, state.length(), piece), state));
    EXPECT_EQ(logits.back().scalar_type(), at::kFloat);
  }
  return logits;
}

double mean_nats_between(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (at::log_softmax(a[i], 1) - at::log_softmax(b[i], 1)).abs().mean().item<double>();
  }
  return sum / static_cast<double>(a.size());
}

void expect_near_float32(const TransformerConfig& config, const std::string& what, double tolerance = kMeanNats) {
  const LanguageModel model = make_model(config);
  const at::Tensor ids = random_ids(3, 21);
  const double found = mean_nats_between(logits_by_pieces(model, ids), logits_by_pieces(in_bfloat16(model), ids));
  EXPECT_LT(found, tolerance) << what;
  EXPECT_GT(found, 1e-5) << what << ": nothing was rounded";
}

TEST(Bfloat16Decoding, IsNearFloat32ForEveryPattern) {
  for (const std::string attention :
       {"full", "window(6)", "window(8, dilation=3)", "strided(4, split=true)", "fixed(6, 2)", "window(4) | global(2)",
        "heads(window(6), stride(3))", "block(3, block(2, causal & window(3)) | global(1))", "linear",
        "linear(map=dpfp)", "performer(features=16)", "rfa(features=16)", "rfa(features=16, gate=yes)",
        "span(max=9, ramp=4, init=2)"}) {
    TransformerConfig config = small_config();
    config.attention = {attention};
    expect_near_float32(config, attention);
  }
}

// A hash that falls on the other side of a plane shows a row other keys.
TEST(Bfloat16Decoding, IsNearFloat32WhereRowsAreHashed) {
  TransformerConfig config = small_config();
  config.attention = {"lsh(causal=rank, window=3, buckets=4)"};
  expect_near_float32(config, "lsh", 0.2);
}

TEST(Bfloat16Decoding, IsNearFloat32ForEveryKindOfModel) {
  for (const std::string position : {"rotary", "learned", "sinusoidal", "alibi"}) {
    for (const std::string norm : {"pre", "post"}) {
      for (const std::string activation : {"gelu", "swiglu"}) {
        TransformerConfig config = small_config();
        config.position_embedding = position;
        config.norm_position = norm;
        config.hidden_act = activation;
        config.num_key_value_heads = 1;
        config.tie_word_embeddings = norm == "pre";
        expect_near_float32(config, concat(position, " ", norm, " ", activation));
      }
    }
  }
}

TEST(Bfloat16Decoding, IsNearFloat32BehindAMemoryAndForAVocabularyInClusters) {
  TransformerConfig config = small_config();
  config.position_embedding = "none";
  config.attention = {"relative"};
  config.memory_length = 6;
  expect_near_float32(config, "memory");
  config.vocabulary_cutoffs = {40, 200};
  config.vocabulary_division = 2;
  expect_near_float32(config, "clusters");
  config.vocabulary_cutoffs = {};
  config.vocabulary_division = 1;
  config.memory_length = 5;
  config.compressed_memory_length = 4;
  config.compression_rate = 3;
  config.max_position_embeddings = 8;
  for (const std::string compression : {"mean", "max", "convolution"}) {
    config.compression = compression;
    expect_near_float32(config, compression);
  }
}

// Products of other numbers of rows round other sums to the same 8 bits: about what a rounding more gives.
TEST(Bfloat16Decoding, TokensOneByOneAreTheWholeTextAndSeveralTextsAreEach) {
  const at::NoGradGuard without_gradients;
  for (const std::string attention : {"full", "strided(4)", "linear"}) {
    TransformerConfig config = small_config();
    config.attention = {attention};
    LanguageModel model = in_bfloat16(make_model(config));
    const at::Tensor ids = random_ids(5, 21);
    const at::Tensor whole = model->logits(input_of(ids));
    const std::vector<at::Tensor> all = logits_by_pieces(model, ids);
    std::vector<at::Tensor> expected;
    std::int64_t end = 0;
    for (const std::int64_t piece : kTextPieces) {
      end += piece;
      expected.push_back(whole.select(1, end - 1));
    }
    EXPECT_LT(mean_nats_between(all, expected), kMeanNats) << attention;
    for (std::int64_t row = 0; row < ids.size(0); ++row) {
      std::vector<at::Tensor> one;
      one.reserve(all.size());
      for (const at::Tensor& logits : all) {
        one.push_back(logits.narrow(0, row, 1));
      }
      EXPECT_LT(mean_nats_between(logits_by_pieces(model, ids.narrow(0, row, 1)), one), kMeanNats) << attention;
    }
  }
}

class AutocastToBfloat16 {
 public:
  AutocastToBfloat16() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  }
  ~AutocastToBfloat16() { at::autocast::set_autocast_enabled(at::kCPU, false); }
  AutocastToBfloat16(const AutocastToBfloat16&) = delete;
  AutocastToBfloat16& operator=(const AutocastToBfloat16&) = delete;
};

// weft::service::memory_account() counts on it.
TEST(Bfloat16Decoding, KeysAndValuesHaveTheTypeOfProducts) {
  for (const std::string position : {"rotary", "learned", "alibi"}) {
    TransformerConfig config = small_config();
    config.position_embedding = position;
    LanguageModel model = make_model(config);
    const AutocastToBfloat16 autocast;
    layers::DecodingState state = model->initial_state();
    model->decode(random_ids(2, 5), state);
    std::int64_t remembered = 0;
    for (const auto& [name, tensor] : state.save()) {
      if (tensor.dim() > 0) {
        EXPECT_EQ(tensor.scalar_type(), at::kBFloat16) << position << " " << name;
        remembered += tensor.numel();
      }
    }
    EXPECT_EQ(remembered, 2 * 5 * 2 * config.num_hidden_layers * config.hidden_size) << position;
  }
}

/// How many refer weakly to the numbers of all parameters: a form that is kept knows what it was made of.
std::int64_t forms_of(const torch::nn::Module& model) {
  std::int64_t sum = 0;
  for (const at::Tensor& parameter : model.parameters()) {
    sum += static_cast<std::int64_t>(parameter.storage().getWeakStorageImpl().weak_use_count());
  }
  return sum;
}

TEST(Bfloat16Decoding, WhatIsKeptOfWeightsIsFreedWhereTrainingGoesOn) {
  for (const bool is_tied : {true, false}) {
    TransformerConfig config = small_config();
    config.tie_word_embeddings = is_tied;
    LanguageModel model = make_model(config);
    const std::int64_t before = forms_of(*model);
    const auto write = [&] {
      const AutocastToBfloat16 autocast;
      layers::DecodingState state = model->initial_state();
      return model->decode(random_ids(3, 5), state);
    };
    write();
    const std::int64_t writing = forms_of(*model);
    // Four linear layers in each block, and the table of the head.
    EXPECT_GE(writing, before + 4 * config.num_hidden_layers + 1);
    model->eval();
    EXPECT_EQ(forms_of(*model), writing) << "the next text needs them";
    model->train();
    EXPECT_EQ(forms_of(*model), before) << is_tied;
    model->eval();
    EXPECT_EQ(write().scalar_type(), at::kFloat);
    EXPECT_EQ(forms_of(*model), writing);
  }
}

}  // namespace
}  // namespace weft::models
